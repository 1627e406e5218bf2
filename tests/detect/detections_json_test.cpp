#include "detect/detections_json.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(DetectionsJson, DetectListsTheBestFirstWithShortNumbers) {
  const std::vector<ScoredBox> detections{{1, 2, 3, 4, 1, 0.25f}, {10.1f, 20, 30.5f, 40, 0, 0.87f}};
  const Json json = to_json("photos/ä.jpg", 640, 480, detections, {"dog", "cat"});
  EXPECT_EQ(json.dump(), R"({"file":"photos/ä.jpg","width":640,"height":480,"detections":[)"
                         R"({"class":0,"name":"dog","score":0.87,"box":[10.1,20.0,30.5,40.0]},)"
                         R"({"class":1,"name":"cat","score":0.25,"box":[1.0,2.0,3.0,4.0]}]})");
}

TEST(DetectionsJson, AFileNameThatIsNotUtf8IsStillPrinted) {
  const std::string text = to_text(to_json("caf\xe9.jpg", 1, 1, {}, {}));
  EXPECT_EQ(Json::parse(text)["file"], "caf\xef\xbf\xbd.jpg");
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace brightnet
