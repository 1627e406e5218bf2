// `brightnet detect` as a user runs it: every kind of source and output together, and what it refuses.
#include <fstream>
#include <regex>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/detect/clip.h"
#include "tests/end_to_end/program.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class DetectCommand : public ::testing::Test {
 protected:
  DetectCommand() { write_small_weights(run_); }

  std::vector<std::string> arguments(const std::string& source, std::vector<std::string> more) const {
    std::vector<std::string> all{"detect", "--weights", "weights.safetensors", "--source", source,
                                 "--conf", "0.1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  ProgramResult detect(const std::string& source, const std::vector<std::string>& more = {}) const {
    return run_program(arguments(source, more), run_.folder());
  }
  void expect_refusal(const std::string& source, const std::vector<std::string>& more,
                      const std::string& word) const {
    const ProgramResult result = detect(source, more);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(word), std::string::npos) << "'" << word << "' is not in: " << result.err;
  }
  Json json(const fs::path& file) const { return Json::parse(read_file(run_.folder() / file)); }
  bool exists(const fs::path& file) const { return fs::exists(run_.folder() / file); }

  SmallRun run_{1, 3};
};

TEST_F(DetectCommand, WritesEveryLayoutFromOnePass) {
  const ProgramResult result = detect(
      "data/images/val", {"--out", "found", "--json", "a.json", "--coco-json", "coco.json", "--darknet-json",
                          "result.json", "--txt", "labels", "--save-conf", "--save-crops", "--batch", "2"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json ours = json("a.json"), coco = json("coco.json"), darknet = json("result.json");
  ASSERT_EQ(ours.size(), 3u);
  ASSERT_EQ(darknet.size(), 3u);
  size_t objects = 0;
  for (size_t i = 0; i < 3; ++i) {
    const fs::path file = ours[i]["file"].get<std::string>();
    EXPECT_EQ(darknet[i]["filename"], file.string());
    EXPECT_EQ(darknet[i]["frame_id"], i + 1);
    EXPECT_EQ(darknet[i]["objects"].size(), ours[i]["detections"].size());
    EXPECT_TRUE(exists(fs::path("found") / file.filename()));
    std::ifstream labels(run_.folder() / "labels" / (file.stem().string() + ".txt"));
    size_t lines = 0;
    for (std::string line; std::getline(labels, line);) ++lines;
    EXPECT_EQ(lines, ours[i]["detections"].size());
    for (size_t k = 0; k < ours[i]["detections"].size(); ++k, ++objects) {
      const Json& detection = ours[i]["detections"][k];
      EXPECT_EQ(coco.at(objects)["category_id"], detection["class"].get<int>() + 1);
      EXPECT_TRUE(exists("found/crops/" + detection["name"].get<std::string>() + '/' + file.stem().string() +
                         '_' + std::to_string(k + 1) + ".jpg"));
    }
  }
  EXPECT_GT(objects, 0u);
  EXPECT_EQ(coco.size(), objects);
  for (const char* word : {"images/s", "decode", "prepare", "network", "NMS", "output"})
    EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
}

TEST_F(DetectCommand, AUsersOwnVideoIsRefusedBeforeAnythingIsWrittenAlsoWithoutMpeg4) {
  fs::create_directories(run_.folder() / "source");
  fs::create_directories(run_.folder() / "found");
  write_clip(run_.folder() / "source/clip.avi", 3);
  fs::copy_file(*begin(fs::directory_iterator(run_.folder() / "data/images/val")),
                run_.folder() / "source/a.jpg");
  write_atomically(run_.folder() / "found/clip.avi", std::string("a user's own"));
  const char* const backends[] = {"OPENCV_VIDEOIO_PRIORITY_FFMPEG", "OPENCV_VIDEOIO_PRIORITY_GSTREAMER"};
  for (const char* backend : backends) ::setenv(backend, "0", 1);
  expect_refusal("source", {"--out", "found"}, "found/clip.avi: there is a file of this name already");
  for (const char* backend : backends) ::unsetenv(backend);
  EXPECT_FALSE(exists("found/a.jpg")) << "before anything is written";
}

TEST_F(DetectCommand, AnAnswerMayLieInTheNewFolderOfThePictures) {
  for (int i = 0; i < 2; ++i) {  // the same command as often as one likes
    const ProgramResult result = detect("data/images/val", {"--out", "found", "--json", "found/a.json"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(json("found/a.json").size(), 3u);
  }
}

TEST_F(DetectCommand, DrawsAVideoOfAVideo) {
  write_clip(run_.folder() / "clip.avi", 9, 10, {320, 240});
  const ProgramResult result = detect("clip.avi", {"--out", "found", "--frames", "6", "--json", "-"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json frames = Json::parse(result.out);
  ASSERT_EQ(frames.size(), 6u);
  EXPECT_EQ(frames[5]["file"], "clip.avi");
  EXPECT_EQ(frames[5]["frame"], 5);
  const fs::path drawn = run_.folder() / (exists("found/clip.mp4") ? "found/clip.mp4" : "found/clip.avi");
  const auto video = make_video_capture();
  ASSERT_TRUE(video->open(drawn.string()));
  cv::Mat picture;
  int count = 0;
  while (video->read(picture)) {
    ++count;
    EXPECT_EQ(picture.size(), cv::Size(320, 240));
  }
  EXPECT_EQ(count, 6);
}

TEST_F(DetectCommand, PicturesAreLeftOutOnRequest) {
  ASSERT_EQ(detect("data/images/val", {"--no-save"}).code, 0);
  EXPECT_FALSE(exists("runs"));
  ASSERT_EQ(detect("data/images/val", {"--txt", "labels"}).code, 0);
  EXPECT_FALSE(exists("runs"));
  ASSERT_EQ(detect("data/images/val/*.jpg").code, 0);
  EXPECT_TRUE(exists("runs/detect"));
}

TEST_F(DetectCommand, LooksForSomeClassesOnly) {
  const ProgramResult result =
      detect("data/images/val", {"--classes", "square", "--max-det", "3", "--json", "-"});
  ASSERT_EQ(result.code, 0) << result.err;
  for (const Json& image : Json::parse(result.out)) {
    EXPECT_LE(image["detections"].size(), 3u);
    for (const Json& detection : image["detections"]) EXPECT_EQ(detection["name"], "square");
  }
  expect_refusal("data/images/val", {"--classes", "sqare"}, "'square'");
  expect_refusal("data/images/val", {"--classes", "0,9"}, "no class 9");
}

// Its weights find each box as both classes.
TEST_F(DetectCommand, ClassAgnosticKeepsOneClassOfBoxesThatOverlap) {
  const auto found = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--json", "-"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = detect("data/images/val", words);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out);
  };
  const auto places = [](const Json& image) {
    std::set<std::vector<float>> boxes;
    for (const Json& detection : image["detections"])
      boxes.insert(detection["box"].get<std::vector<float>>());
    return boxes;
  };
  const Json by_class = found({}), agnostic = found({"--class-agnostic"});
  ASSERT_EQ(by_class.size(), 3u);
  ASSERT_EQ(agnostic.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GT(by_class[i]["detections"].size(), places(by_class[i]).size());
    EXPECT_GT(agnostic[i]["detections"].size(), 0u);
    EXPECT_EQ(agnostic[i]["detections"].size(), places(agnostic[i]).size());
  }
}

TEST_F(DetectCommand, PrintsTheScoresOnRequest) {
  const auto lines = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--no-save", "--max-det", "2"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = detect("data/images/val", words);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  const std::string without = lines({}), with = lines({"--scores"});
  EXPECT_EQ(without.find("(0."), std::string::npos) << without;
  const std::regex image(R"(\.jpg: (2 \w+ \(0\.\d\d 0\.\d\d\)|1 \w+ \(0\.\d\d\), 1 \w+ \(0\.\d\d\)), )");
  EXPECT_EQ(std::distance(std::sregex_iterator(with.begin(), with.end(), image), {}), 3) << with;
}

TEST_F(DetectCommand, DrawsBoxesInTheStyleAskedFor) {
  const cv::Mat plain(240, 240, CV_8UC3, cv::Scalar(90, 90, 90));
  cv::imwrite((run_.folder() / "plain.png").string(), plain);
  const auto drawn = [&](const std::string& folder, const std::vector<std::string>& style) {
    std::vector<std::string> words{"--out", folder, "--max-det", "1"};
    words.insert(words.end(), style.begin(), style.end());
    const ProgramResult result = detect("plain.png", words);
    EXPECT_EQ(result.code, 0) << result.err;
    const cv::Mat picture = cv::imread((run_.folder() / folder / "plain.png").string());
    if (picture.size() != plain.size()) return 0;
    cv::Mat difference;
    cv::absdiff(picture, plain, difference);
    return cv::countNonZero(difference.reshape(1));
  };
  const int thin = drawn("thin", {"--line-width", "1", "--hide-labels"});
  EXPECT_GT(thin, 0);
  EXPECT_GT(drawn("thick", {"--line-width", "6", "--hide-labels"}), 2 * thin);
  EXPECT_GT(drawn("named", {"--line-width", "1"}), thin);
}

TEST_F(DetectCommand, SkipsWhatDoesNotDecode) {
  std::ofstream(run_.folder() / "data/images/val/broken.jpg") << "x";
  const ProgramResult result = detect("data/images/val", {"--json", "-"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out).size(), 3u);
  EXPECT_NE(result.err.find("broken.jpg"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("1 could not be read"), std::string::npos) << result.err;
  expect_refusal("data/images/val/broken.jpg", {}, "none of the images");
}

TEST_F(DetectCommand, NeverOverwritesWhatItReads) {
  expect_refusal("data/images/val", {"--out", "data/images/val"}, "--out");
  expect_refusal("data/images/val", {"--out", "data/images/train/../val"}, "--out");
  expect_refusal("data/images/val", {"--txt", "data/images/val"}, "--txt");
  fs::create_directories(run_.folder() / "pictures/images");
  fs::create_directories(run_.folder() / "pictures/labels");
  fs::copy(run_.folder() / "data/images/val", run_.folder() / "pictures/images");
  expect_refusal("pictures/images", {"--txt", "pictures/labels"}, "--txt");
  std::ofstream(run_.folder() / "list.txt")
      << "data/images/val/" +
             fs::directory_iterator(run_.folder() / "data/images/val")->path().filename().string();
  for (const char* input : {"list.txt", "weights.safetensors"})
    expect_refusal("list.txt", {"--coco-json", input},
                   "input file would be overwritten. Name another with --coco-json");
}

TEST_F(DetectCommand, NeverWritesWhereTrainingLooksForLabels) {
  const fs::path label = *fs::directory_iterator(run_.folder() / "data/labels/val");
  const std::string truth = read_file(label);
  expect_refusal("data/images/val", {"--txt", "data/labels/val"}, "--txt");
  expect_refusal("data/images/val", {"--txt", run_.folder() / "data/labels/val/"}, "--txt");
  const fs::path image = *fs::directory_iterator(run_.folder() / "data/images/val");
  expect_refusal("data/images/val/" + image.filename().string(), {"--txt", "data/labels/val"}, "--txt");
  fs::create_directory_symlink("data/images/val", run_.folder() / "linked");
  expect_refusal("linked", {"--txt", "data/labels/val"}, "--txt");
  EXPECT_EQ(read_file(label), truth);
  fs::remove_all(run_.folder() / "data/labels/val");
  expect_refusal("data/images/val", {"--txt", "data/labels/val"}, "--txt");
  EXPECT_FALSE(exists("data/labels/val"));
}

TEST_F(DetectCommand, ReplacesWhatItWroteAndNothingElse) {
  const fs::path image = *fs::directory_iterator(run_.folder() / "data/images/val");
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories((run_.folder() / file).parent_path());
    std::ofstream(run_.folder() / file) << text;
  };
  // The same command as often as one likes.
  const std::vector<std::string> outputs{"--out",        "found",          "--txt",      "labels",
                                         "--save-crops", "--json",         "a.json",     "--coco-json",
                                         "coco.json",    "--darknet-json", "result.json"};
  for (int i = 0; i < 2; ++i) {
    const ProgramResult result = detect("data/images/val", outputs);
    ASSERT_EQ(result.code, 0) << result.err;
  }
  // What somebody corrected is somebody's.
  const std::string label = "labels/" + image.stem().string() + ".txt";
  write(label, "0 0.5 0.5 0.1 0.1\n");
  const std::string other = read_file(run_.folder() / "found" / image.filename());
  expect_refusal("data/images/val", outputs, label);
  EXPECT_EQ(read_file(run_.folder() / label), "0 0.5 0.5 0.1 0.1\n");
  // What was never its own is refused before anything is written.
  const std::string picture = "mine/" + image.filename().string();
  write(picture, "precious");
  expect_refusal("data/images/val", {"--out", "mine"}, picture);
  EXPECT_EQ(read_file(run_.folder() / picture), "precious");
  EXPECT_EQ(std::distance(fs::directory_iterator(run_.folder() / "mine"), fs::directory_iterator()), 1);
  write("mine/notes.txt", "of another name");
  EXPECT_EQ(detect("data/images/val", {"--txt", "mine"}).code, 0);
}

TEST_F(DetectCommand, AnAnswerReplacesOnlyAnAnswerOfItsKind) {
  const std::string config = read_file(run_.folder() / "run.yaml");
  expect_refusal("data/images/val", {"--json", "run.yaml"}, "run.yaml");
  EXPECT_EQ(read_file(run_.folder() / "run.yaml"), config);
  ASSERT_EQ(detect("data/images/val", {"--json", "a.json"}).code, 0);
  expect_refusal("data/images/val", {"--coco-json", "a.json"}, "not an earlier output");
  expect_refusal("data/images/val", {"--json", "a.json", "--darknet-json", "./a.json"}, "two outputs");
  expect_refusal("data/images/val", {"--json", "-", "--coco-json", "-"}, "two outputs");
  fs::create_directories(run_.folder() / "folder");
  expect_refusal("data/images/val", {"--json", "folder"}, "not a regular file");
  // Nothing is printed when there is nothing to say.
  std::ofstream(run_.folder() / "broken.jpg") << "x";
  const ProgramResult result = detect("broken.jpg", {"--json", "-"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
}

TEST_F(DetectCommand, RefusesSourcesAndFoldersThatCannotBeUsed) {
  std::ofstream(run_.folder() / "broken.mp4") << "x";
  std::ofstream(run_.folder() / "file") << "x";
  fs::create_directories(run_.folder() / "empty");
  expect_refusal("broken.mp4", {}, "cannot be opened");
  expect_refusal("empty", {}, "no images");
  expect_refusal("nothing*", {}, "pattern");
  expect_refusal("98", {}, "no camera 98");
  expect_refusal("data/images/val", {"--out", "file"}, "cannot be made");
  expect_refusal("data/images/val", {"--out", "/proc/none"}, "cannot be made");
  expect_refusal("data/images/val", {"--json", "file/a.json"}, "--json");
  expect_refusal("data/images/val", {"--coco-json", "new/"}, "name of a folder");
}

TEST_F(DetectCommand, ASignalEndsItWithEverythingWritten) {
  const fs::path image = *fs::directory_iterator(run_.folder() / "data/images/val");
  {
    std::ofstream list(run_.folder() / "list.txt");
    for (int i = 0; i < 300'000; ++i) list << image.string() << '\n';
  }
  const Program program(arguments("list.txt", {"--json", "a.json", "--txt", "labels"}), run_.folder());
  const fs::path first = run_.folder() / "labels" / (image.stem().string() + ".txt");
  for (int i = 0; i < 3000 && !fs::exists(first); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  program.signal(SIGINT);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_GE(json("a.json").size(), 1u);
  EXPECT_NE(result.err.find("images/s"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace brightnet::testing
