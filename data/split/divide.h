// Divides the images of a data set into parts by what they contain.
//
// The rule. Images that look alike are one group, and a group stays whole. A group's place is a hash of its
// contents and the seed (the least over its images), so that neither the order of the files nor their names
// matter. The classes are taken one after the other, the one with the fewest boxes first: its groups that
// have no part yet, in the order of their places, are cut into consecutive runs, so long that each part comes
// to its share of the class's boxes, those that it has from earlier classes counted. What rounding to whole
// groups gave a part too much or too little in images moves the cuts of the next classes by at most half an
// image. Groups without objects come last: each part gets its share of them, or up to half more or less, to
// come to its share of the images.
//
// If one part has more than half of the images, it gets first the groups that are larger than the smallest
// part, and the groups that are the only ones with a class.
//
// An added image therefore moves only groups that are next to a cut.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/split/contents.h"

namespace brightnet {

struct DivideOptions {
  std::vector<double> shares;  ///< of each part; positive, adding up to 1
  uint64_t seed = 0;
  bool similar = true;  ///< keep images together that look alike; else only files with the same bytes
};

struct Division {
  std::vector<size_t> part;   ///< of each image, an index into the shares
  std::vector<size_t> group;  ///< of each image; content_groups()
};

Division divide(const Dataset& dataset, const std::vector<ImageContent>& contents,
                const DivideOptions& options);

}  // namespace brightnet
