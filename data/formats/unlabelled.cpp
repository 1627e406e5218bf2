// Images of which the pixels alone are wanted.
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/places.h"

namespace brightnet {
namespace {

std::unique_ptr<LabelSource> open_unlabelled(const DataOptions& options, Split split, ProblemLog&) {
  const auto nowhere = [](const std::filesystem::path&) { return LabelFile(); };
  const auto nothing = [](const std::filesystem::path&, LabelledImage&, ProblemLog&) {};
  // Without a class, labels would be searched for one.
  return std::make_unique<LabelsBesideImages>(images_below(split_place(options, split, {data_root(options)})),
                                              nowhere, nothing, std::vector<std::string>{"object"});
}

}  // namespace

const DatasetFormat& unlabelled_format() {
  static const DatasetFormat format{.name = "unlabelled", .open = open_unlabelled, .recognized_by = ""};
  return format;
}

}  // namespace brightnet
