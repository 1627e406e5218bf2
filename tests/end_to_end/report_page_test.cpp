// The pages and pictures of a run, of `eval` and of `compare`, as the program writes them and a browser
// shows them.
#include <fstream>

#include "data/image/read_image.h"
#include "tests/end_to_end/browser.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// A run with class names that a careless page would take for markup.
class ReportPage : public ::testing::Test {
 protected:
  void train(const std::vector<std::string>& more = {}) {
    auto settings =
        SmallRun::short_run({"data.classes=[\"<script>alert(1)</script>\", \"кошка & \\\"co\\\"\"]"});
    settings.insert(settings.end(), more.begin(), more.end());
    trained_ = run_program(with_settings({"train", "run.yaml", "--out", "out"}, settings), run_.folder());
    ASSERT_EQ(trained_.code, 0) << trained_.err;
  }
  ProgramResult evaluate(const std::vector<std::string>& more) {
    std::vector<std::string> words{"eval", "out/config.yaml", "--weights", "out/weights/best.safetensors"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, run_.folder());
  }
  fs::path file(const std::string& name) { return run_.folder() / name; }

  SmallRun run_;
  ProgramResult trained_;
};

TEST_F(ReportPage, ARunHasOnePageWithAllOfIt) {
  train();
  EXPECT_NE(trained_.out.find("out/report.html"), std::string::npos) << trained_.err;
  const std::string html = read_file(file("out/report.html"));
  for (const char* part : {"training has ended", "Curves", "learning rate", "Classes", "Confusion matrix",
                           "fingerprint", "Machine", "Values chosen for this run", "Configuration",
                           "val_pred0.jpg", "Training samples", "AP50 (mAP@0.5)"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_LT(html.size(), 5'000'000u);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  for (const char* name : {"pr_curve.png", "f1_curve.png", "precision_curve.png", "recall_curve.png",
                           "confusion_matrix.png", "results.png", "val_pred0.jpg"})
    EXPECT_GT(read_image(file("out") / name).cols, 200) << name;
}

TEST_F(ReportPage, WarnsThatValidationImagesAreTrainedOn) {
  train({"data.val=images/train", "train.epochs=1"});
  for (const std::string& text : {trained_.err, read_file(file("out/report.html"))})
    EXPECT_NE(text.find("12 of the 12 validation images are training images"), std::string::npos) << text;
}

TEST_F(ReportPage, EvalDrawsTheSameAndReplacesOnlyWhatItWrote) {
  train();
  const ProgramResult evaluated = evaluate({"--plots", "found"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_NE(evaluated.out.find("found/report.html"), std::string::npos) << evaluated.err;
  for (const char* name : {"pr_curve.png", "f1_curve.png", "precision_curve.png", "recall_curve.png",
                           "confusion_matrix.png", "val_pred0.jpg"})
    EXPECT_GT(read_image(file("found") / name).cols, 200) << name;
  EXPECT_EQ(evaluate({"--plots", "found"}).code, 0) << "its own files it replaces";
  std::ofstream(file("found/pr_curve.png")) << "of the user";
  const ProgramResult refused = evaluate({"--plots", "found"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("pr_curve.png"), std::string::npos) << refused.err;
  EXPECT_EQ(read_file(file("found/pr_curve.png")), "of the user");

  EXPECT_EQ(evaluate({}).code, 0);
  EXPECT_TRUE(fs::exists(file("runs/eval"))) << "without --plots";
  fs::remove_all(file("runs"));
  const ProgramResult none = evaluate({"--no-plots", "--json", "-"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_FALSE(fs::exists(file("runs")));
}

TEST_F(ReportPage, WithoutATypefacePicturesAreDrawnWithoutWords) {
  write_atomically(file("no_fonts.conf"),
                   "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig>"
                   "<dir>/nowhere</dir></fontconfig>");
  const ProgramResult shown =
      Program("env",
              {"FONTCONFIG_FILE=" + file("no_fonts.conf").string(), program().string(), "data", "show",
               "run.yaml", "--count", "2", "--out", "shown"},
              run_.folder())
          .wait();
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.err.find("No typeface is installed"), std::string::npos) << shown.err;
  EXPECT_NE(shown.err.find("fonts-dejavu-core"), std::string::npos) << shown.err;
  EXPECT_TRUE(fs::exists(file("shown/sheet.jpg")));
}

TEST_F(ReportPage, ABrowserShowsItOnAPhoneAndOnAScreen) {
  if (!browser()) GTEST_SKIP() << "there is no Chromium (Debian's package chromium; scripts/setup --browser)";
  train();
  ASSERT_EQ(evaluate({"--plots", "found"}).code, 0);
  ASSERT_EQ(run_program({"compare", "out", "out", "--force"}, run_.folder()).code, 0);
  const std::vector<fs::path> pages{file("out/report.html"), file("found/report.html"), file("compare.html")};
  const Json seen = look_at(pages, run_.folder());
  ASSERT_TRUE(seen.is_array() && seen.size() == 6) << seen;
  for (size_t i = 0; i < seen.size(); ++i) {
    SCOPED_TRACE(pages[i / 2].string() + (i % 2 ? " at 1600 pixels" : " at 400 pixels"));
    const Json& page = seen[i];
    ASSERT_TRUE(page.is_object()) << "the page did not answer";
    EXPECT_EQ(page["problems"], Json::array());
    EXPECT_EQ(page["broken"], 0);
    EXPECT_EQ(page["cut"], 0) << "words in the names of the matrix";
    EXPECT_GE(page["images"], i < 4 ? 1 : 0);
    EXPECT_LE(page["scroll"], page["width"]) << "the page scrolls sideways";
    EXPECT_GE(page["smallest"], 11);
    EXPECT_GT(page["texts"], 50);
    EXPECT_GT(page["plots"], 8);
    EXPECT_NE(page["tip"], "") << "nothing under the pointer";
    EXPECT_EQ(page["markup"], 0);
  }
}

}  // namespace
}  // namespace brightnet::testing
