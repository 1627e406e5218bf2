#include "data/split/shared_images.h"

#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

Dataset images_called(const fs::path& folder, const std::vector<std::string>& names) {
  Dataset dataset;
  for (const std::string& name : names) dataset.images.emplace_back().file = folder / name;
  return dataset;
}

TEST(TrainedOn, OfManyImagesThreeAreNamedAndTheOthersCounted) {
  const Dataset training = images_called("/nowhere", {"e.jpg", "d.jpg", "c.jpg", "b.jpg", "a.jpg"});
  const auto said = [&](const std::vector<std::string>& names) {
    const std::string text = describe_trained_on(training, images_called("/nowhere", names));
    return text.substr(0, text.find(": scores"));
  };
  EXPECT_EQ(said({"x.jpg", "y.jpg"}), "");
  EXPECT_EQ(said({"x.jpg", "b.jpg"}), "1 of the 2 validation images is a training image (/nowhere/b.jpg)");
  EXPECT_EQ(said({"a.jpg", "b.jpg", "c.jpg"}),
            "3 of the 3 validation images are training images (/nowhere/a.jpg, /nowhere/b.jpg, "
            "/nowhere/c.jpg)");
  EXPECT_EQ(said({"a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg", "x.jpg", "y.jpg", "z.jpg"}),
            "5 of the 8 validation images are training images (/nowhere/a.jpg, /nowhere/b.jpg, "
            "/nowhere/c.jpg and 2 more)");
}

TEST(TrainedOn, AnImageIsKnownByWhateverLinkEitherSplitNamesIt) {
  const DatasetFolder data;
  data.image("files/a.jpg");
  fs::create_directory_symlink("files", data.root() / "link");
  const Dataset real = images_called(data.root() / "files", {"a.jpg"}),
                linked = images_called(data.root() / "link", {"a.jpg"});
  for (const Dataset* training : {&real, &linked}) {
    for (const Dataset* validation : {&real, &linked})
      EXPECT_TRUE(contains(describe_trained_on(*training, *validation), "1 of the 1 validation images is"))
          << training->images[0].file << ' ' << validation->images[0].file;
  }
}

}  // namespace
}  // namespace brightnet
