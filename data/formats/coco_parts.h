// COCO files of a part of a data set's images, as `data split` writes them.
#pragma once

#include <vector>

#include "data/formats/format.h"

namespace brightnet {

void write_coco_parts(const DataOptions& options, const std::vector<DataPart>& parts);

}  // namespace brightnet
