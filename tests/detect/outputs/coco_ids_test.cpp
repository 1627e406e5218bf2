// Images of annotations that share their name, as the frames of video data sets do.
#include "detect/outputs/coco_ids.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

Frame frame_of(const std::string& file) {
  Frame frame;
  frame.file = file;
  return frame;
}

// Each was compared with all of its namesakes: these took minutes.
TEST(CocoIds, AreFoundAmongThousandsOfNamesakes) {
  constexpr int videos = 20'000;
  const DatasetFolder data;
  std::string images;
  for (int i = 0; i < videos; ++i)
    images += fmt::format(R"({}{{"id": {}, "file_name": "v{}/00000.jpg"}})", i == 0 ? "" : ",", i + 1, i);
  data.text("ids.json", "{\"images\": [" + images + "], \"categories\": []}");
  const CocoIds ids(data.root() / "ids.json", {});
  for (int i = 0; i < videos; ++i)
    ASSERT_EQ(ids.image(frame_of(fmt::format("frames/v{}/00000.jpg", i))), i + 1);
}

TEST(CocoIds, KnowAWholePathAndOneThatBeginsWithADot) {
  const DatasetFolder data;
  data.text("ids.json",
            R"({"images": [{"id": 1, "file_name": "/data/a/x.jpg"}, {"id": 2, "file_name": "./b//x.jpg"},
    {"id": 3, "file_name": "x.jpg"}], "categories": []})");
  const CocoIds ids(data.root() / "ids.json", {});
  EXPECT_EQ(ids.image(frame_of("/data/a/x.jpg")), 1);
  EXPECT_EQ(ids.image(frame_of("/data/b/x.jpg")), 2);
  EXPECT_EQ(ids.image(frame_of("/other/data/a/x.jpg")), 3);
}

}  // namespace
}  // namespace brightnet
