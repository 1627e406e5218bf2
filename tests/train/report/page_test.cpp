#include "train/report/page.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

const std::string nasty =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"quotes\" 'n\xC3";

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

Metrics metrics_of(const std::vector<std::string>& names) {
  DetectionEvaluator evaluator(names);
  evaluator.add(
      1, std::vector<ScoredBox>{{0, 0, 10, 10, 0, 0.9f}, {50, 0, 60, 10, 0, 0.6f}},
      std::vector<Annotation>{{0, 0, 10, 10, 0, false, false, 100}, {20, 0, 30, 10, 1, false, false, 100}});
  return evaluator.finish();
}

TEST(Page, NoTextOfAUserBecomesMarkup) {
  Page page(nasty, nasty);
  page.tiles({{nasty, nasty}});
  page.sentences(nasty, {nasty});
  page.panels(nasty, {{nasty, {{nasty, {1, 2}, {3, 4}}}, Better::lower}}, nasty);
  page.score_curves(metrics_of({nasty, "b"}));
  page.confusion(metrics_of({nasty, "b"}));
  page.table(nasty, {nasty}, {{nasty}});
  page.facts(nasty, {{nasty, nasty}});
  page.text(nasty, nasty);
  page.picture(nasty, nasty, cv::Mat(4, 4, CV_8UC3, cv::Scalar(1, 2, 3)));
  const std::string html = page.html();
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(count(html, "<script"), 2u) << "the content and the page's own";
  EXPECT_EQ(count(html, "</script>"), 2u);
}

TEST(Page, LoadsNothingFromAnywhere) {
  Page page("run", "");
  page.picture("a picture", "", cv::Mat(4, 4, CV_8UC3, cv::Scalar(1, 2, 3)));
  std::string html = page.html();
  const std::string name_of_svg = "http://www.w3.org/2000/svg";  // a name, which is not fetched
  html.erase(html.find(name_of_svg), name_of_svg.size());
  for (const char* address : {"http:", "https:", "src=\"//", "@import", "url("})
    EXPECT_EQ(html.find(address), std::string::npos) << address;
  EXPECT_NE(html.find("data:image/jpeg;base64,/9j/"), std::string::npos) << "a JPEG begins so";
}

TEST(Page, PicturesAreBoundedInBytes) {
  cv::Mat noise(1500, 1500, CV_8UC3);
  cv::setRNGSeed(1);
  cv::randu(noise, 0, 255);
  Page page("", "");
  page.picture("noise", "", noise);
  const std::string source = page.section("noise")["source"].get<std::string>();
  EXPECT_LE(source.size(), Page::picture_bytes * 4 / 3 + 100);
  EXPECT_GT(source.size(), Page::picture_bytes / 4) << "and is not made smaller than that";
}

TEST(Page, ARunGoesOnWithTheSectionsOfItsLastPage) {
  Page page("run", "");
  page.confusion(metrics_of({nasty, "b"}));
  page.sentences("words", {"</script> & \"кошка\""});
  const Page read = Page::read(page.html());
  EXPECT_EQ(read.section("words"), page.section("words"));
  EXPECT_EQ(read.section(Page::confusion_title)["rows"], Json::parse("[[1,0,0],[0,0,0],[0,1,0]]"));
  EXPECT_TRUE(read.section("none").is_null());
  // Cut short, or of something else: as if there had been none.
  for (const std::string& html :
       {std::string(), std::string("<html></html>"), page.html().substr(0, 4000),
        std::string("<script type=\"application/json\" id=\"content\">[1]</script>")})
    EXPECT_TRUE(Page::read(html).section("words").is_null());
}

TEST(Page, LongCurvesAreThinnedAndKeepTheirLastPoint) {
  Curve curve{"loss", {}, {}};
  for (int i = 1; i <= 12345; ++i) {
    curve.x.push_back(i);
    curve.y.push_back(i == 777 ? -5 : i);
  }
  Page page("", "");
  page.panels("curves", {{"loss", {curve}, Better::lower}}, "epoch");
  const Json written = page.section("curves")["panels"][0]["curves"][0];
  EXPECT_LE(written["x"].size(), 1001u);
  EXPECT_EQ(written["x"].back(), 12345);
  EXPECT_EQ(written["best"], Json::parse("[777,-5]")) << "of all points";
}

TEST(Page, MeansOfCurvesAreOverTheClassesThatHaveObjects) {
  Page page("", "");
  page.score_curves(metrics_of({"a", "b", "none"}));
  const Json panels = page.section(Page::score_title)["panels"];
  const auto first_of_mean = [&](size_t panel) {
    EXPECT_EQ(panels[panel]["curves"].size(), 3u) << "two classes and their mean";
    EXPECT_EQ(panels[panel]["curves"].back()["name"], "mean of the classes");
    return panels[panel]["curves"].back()["y"][0];
  };
  EXPECT_EQ(first_of_mean(0), 0.5) << "precision at a recall of 0: 1 of the one, 0 of the other";
  EXPECT_EQ(first_of_mean(2), 0.25) << "precision of all detections: one of two, and none";
  EXPECT_EQ(first_of_mean(3), 0.5) << "recall of all detections";
}

}  // namespace
}  // namespace brightnet
