// Divides the images of a data set into parts by what they contain.
//
// The rule. Images that look alike are one group, and a group stays whole. Groups are ordered by a hash of their
// contents and the seed (a group's place: the least hash over its images), so that neither the order of the files nor
// their names matter. The classes are processed one by one, the one with the fewest boxes first: its groups that have
// no part yet are assigned in that order, to one part after the other, until each has its share of the class's boxes,
// including those that it has from earlier classes. Where rounding to whole groups gave a part too many or too few
// images, the boundaries in the next classes move by at most half an image. Groups without objects come last: each part
// gets its share of them, or up to half more or less, to reach its share of the images.
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
  std::vector<double> shares;  ///< one for each part; positive, adding up to 1
  uint64_t seed = 0;
  bool similar = true;  ///< keep images together that look alike; else only files with the same bytes
};

struct Division {
  std::vector<size_t> part;   ///< the part of each image, an index into the shares
  std::vector<size_t> group;  ///< the group of each image, from content_groups()
};

Division divide(const Dataset& dataset, const std::vector<ImageContent>& contents,
                const DivideOptions& options);

}  // namespace brightnet
