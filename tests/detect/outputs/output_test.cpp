#include "detect/outputs/output.h"

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "data/image/codecs.h"
#include "detect/detections_json.h"
#include "detect/outputs/open_outputs.h"
#include "tests/logged.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class Outputs : public ::testing::Test {
 protected:
  Outputs() {
    folder_ = fs::path(::testing::TempDir()) /
              ("outputs_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Outputs() override { fs::remove_all(folder_); }

  static FoundObjects image(const std::string& file, std::vector<ScoredBox> boxes) {
    FoundObjects found;
    found.frame.file = file;
    found.frame.name = fs::path(file).stem();
    found.frame.image = cv::Mat(100, 200, CV_8UC3, cv::Scalar(200, 40, 10));
    found.boxes = boxes;
    found.uncut = std::move(boxes);
    return found;
  }
  static FoundObjects frame(const std::shared_ptr<const Clip>& clip, int64_t number) {
    FoundObjects found = image("videos/clip.mov", {{10, 10, 60, 60, 0, 0.9f}});
    found.frame.clip = clip;
    found.frame.number = number;
    found.frame.name = clip->name + '_' + std::to_string(number);
    return found;
  }
  std::string written(DetectionOutput& output, const std::vector<FoundObjects>& all,
                      const std::string& file) {
    for (const auto& found : all) output.add(found);
    EXPECT_FALSE(fs::exists(folder_ / file));  // appears whole
    output.finish();
    return read_file(folder_ / file);
  }

  const std::vector<std::string> names_{"dog", "cat/kitten"};
  fs::path folder_;
};

TEST_F(Outputs, JsonHasOneObjectAnImageAndTheNumberOfAFrame) {
  const auto output = json_output((folder_ / "a.json").string(), names_);
  const auto clip = std::make_shared<Clip>();
  const Json json = Json::parse(written(
      *output, {image("x/a.jpg", {{1, 2, 3, 4, 1, 0.5f}}), image("b.jpg", {}), frame(clip, 7)}, "a.json"));
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0].dump(), R"({"file":"x/a.jpg","width":200,"height":100,"detections":[)"
                            R"({"class":1,"name":"cat/kitten","score":0.5,"box":[1.0,2.0,3.0,4.0]}]})");
  EXPECT_TRUE(json[1]["detections"].empty());
  EXPECT_EQ(json[2]["frame"], 7);
  EXPECT_FALSE(json[1].contains("frame"));
}

TEST_F(Outputs, AMessageAnImageSaysWhatWasFound) {
  const auto clip = std::make_shared<Clip>();
  FoundObjects some = image("x/a.jpg", {{1, 2, 3, 4, 1, 0.9f}, {1, 2, 3, 4, 0, 0.8f}, {5, 2, 9, 4, 1, 0.3f}});
  some.seconds = 0.0312;
  FoundObjects none = image("b.jpg", {});
  none.seconds = 0.0031;
  for (const bool with_scores : {false, true}) {
    const testing::Logged logged;
    const auto output = line_output(names_, with_scores);
    for (const FoundObjects& found : {some, none, frame(clip, 7)}) output->add(found);
    EXPECT_EQ(logged.text(), with_scores ? "x/a.jpg: 1 dog (0.80), 2 cat/kitten (0.90 0.30), 31 ms\n"
                                           "b.jpg: no objects, 3.1 ms\n"
                                           "videos/clip.mov frame 7: 1 dog (0.90), 0.0 ms\n"
                                         : "x/a.jpg: 1 dog, 2 cat/kitten, 31 ms\n"
                                           "b.jpg: no objects, 3.1 ms\n"
                                           "videos/clip.mov frame 7: 1 dog, 0.0 ms\n");
  }
}

TEST_F(Outputs, AnAnswerThatIsNotFinishedLeavesNothingBehind) {
  json_output((folder_ / "a.json").string(), names_)->add(image("a.jpg", {}));
  EXPECT_TRUE(fs::is_empty(folder_));
  const auto none = json_output((folder_ / "b.json").string(), names_);
  none->finish();
  EXPECT_TRUE(Json::parse(read_file(folder_ / "b.json")).empty());
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THROW(json_output((folder_ / "file/folder.json").string(), names_), InputError);
}

TEST_F(Outputs, AnAnswersFolderIsMadeIfItIsMissing) {
  const fs::path file = folder_ / "new/sub/a.json";
  json_output(file.string(), names_)->finish();
  EXPECT_TRUE(Json::parse(read_file(file)).empty());
  coco_json_output((folder_ / "coco/a.json").string(), CocoIds(std::vector<fs::path>{}, names_))->finish();
  EXPECT_TRUE(fs::exists(folder_ / "coco/a.json"));
  darknet_json_output((folder_ / "darknet/a.json").string(), names_)->finish();
  EXPECT_TRUE(fs::exists(folder_ / "darknet/a.json"));
}

TEST_F(Outputs, CocoResultsTakeIdsFromNumberedFiles) {
  const std::vector<fs::path> files{"val/000000000139.jpg", "val/42.jpg"};
  const auto output = coco_json_output((folder_ / "c.json").string(), CocoIds(files, names_));
  const Json json = Json::parse(
      written(*output, {image(files[0], {{10, 20, 30.5f, 60, 1, 0.75f}}), image(files[1], {})}, "c.json"));
  EXPECT_EQ(json.dump(), R"([{"image_id":139,"category_id":2,"bbox":[10.0,20.0,20.5,40.0],"score":0.75}])");
}

using Files = std::vector<fs::path>;

TEST_F(Outputs, CocoIdsCountWhereNamesAreNoNumbersOrNotUnique) {
  Frame frame;
  frame.file = "5.jpg";
  frame.place = 1;
  EXPECT_EQ(CocoIds(Files{"5.jpg", "b.jpg"}, names_).image(frame), 1);
  EXPECT_EQ(CocoIds(Files{"5.jpg", "x/005.jpg"}, names_).image(frame), 1);
  EXPECT_EQ(CocoIds(Files{"5.jpg", "x/6.jpg"}, names_).image(frame), 5);
  frame.place = 9;
  frame.file = "5.mp4";
  EXPECT_EQ(CocoIds(Files{"5.mp4", "6.jpg"}, names_).image(frame), 9) << "a video has many frames";
}

TEST_F(Outputs, CocosOwnClassesHaveCocosCategories) {
  std::vector<std::string> names(80, "x");
  names[0] = "person";
  names[40] = "wine glass";
  names[79] = "toothbrush";
  const CocoIds ids(Files{}, names);
  // The first after each gap in COCO's numbers, and the last.
  const std::vector<int> classes{0, 11, 24, 26, 40, 60, 61, 62, 73, 79},
      known{1, 13, 27, 31, 46, 67, 70, 72, 84, 90};
  for (size_t i = 0; i < known.size(); ++i) EXPECT_EQ(ids.category(classes[i]), known[i]) << classes[i];
}

TEST_F(Outputs, AnnotationsSayTheIds) {
  const fs::path file = folder_ / "instances.json";
  std::ofstream(file) << R"({"images": [{"id": 77, "file_name": "val2017/a.jpg", "width": 4, "height": 3}],
    "annotations": [{"id": 1}], "categories": [{"id": 9, "name": "cat/kitten"}, {"id": 4, "name": "dog"}]})";
  const CocoIds ids(file, names_);
  EXPECT_EQ(ids.category(0), 4);
  EXPECT_EQ(ids.category(1), 9);
  Frame frame;
  frame.file = "elsewhere/a.jpg";
  EXPECT_EQ(ids.image(frame), 77);
  frame.file = "elsewhere/b.jpg";
  EXPECT_THROW(ids.image(frame), InputError);
  EXPECT_THROW(CocoIds(file, {"dgo"}), InputError);
  std::ofstream(folder_ / "no.json") << "[1,\n2";
  try {
    CocoIds(folder_ / "no.json", names_);
    ADD_FAILURE() << "half of a file was read";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("no.json:2: this is not valid JSON"), std::string::npos) << e.what();
  }
  // A conversion of this number has no defined result.
  write_atomically(file, R"({"images": [{"id": 1e300, "file_name": "a.jpg"}], "categories": []})");
  EXPECT_THROW(CocoIds(file, {}), InputError);
}

TEST_F(Outputs, AnnotationsOfEqualNamesAreToldApartByTheirFolders) {
  const fs::path file = folder_ / "instances.json";
  std::ofstream(file)
      << R"({"images": [{"id": 1, "file_name": "train/a.jpg"}, {"id": 2, "file_name": "val/a.jpg"},
    {"id": 3, "file_name": "old/val/a.jpg"}, {"id": 4, "file_name": "twice/b.jpg"},
    {"id": 5, "file_name": "twice/b.jpg"}], "categories": []})";
  const CocoIds ids(file, {});
  const auto id = [&](const std::string& of) {
    Frame frame;
    frame.file = of;
    return ids.image(frame);
  };
  EXPECT_EQ(id("data/train/a.jpg"), 1);
  EXPECT_EQ(id("data/val/a.jpg"), 2);
  EXPECT_EQ(id("data/train/../val/a.jpg"), 2);
  EXPECT_EQ(id("data/old/val/a.jpg"), 3) << "the longer one";
  for (const auto& [unclear, one, other] :
       {std::tuple("data/retrain/a.jpg", "train/a.jpg (id 1)", "val/a.jpg (id 2)"),
        std::tuple("data/twice/b.jpg", "twice/b.jpg (id 4)", "twice/b.jpg (id 5)")}) {
    try {
      ADD_FAILURE() << unclear << " is given the id " << id(unclear);
    } catch (const InputError& e) {
      const std::string said = e.what();
      for (const char* words : {unclear, one, other, "instances.json"})
        EXPECT_NE(said.find(words), std::string::npos) << said;
    }
  }
}

TEST_F(Outputs, DarknetsResultCountsFramesFromOneWithSixDecimalsAndCutsNoBox) {
  const auto output = darknet_json_output((folder_ / "result.json").string(), names_);
  FoundObjects over_the_border = image("b.jpg", {{20, 10, 80, 43, 0, 0.123456789f}});
  over_the_border.boxes = {};
  over_the_border.uncut[0].x1 = -20;
  over_the_border.frame.place = 2;
  FoundObjects first = image("a.jpg", {});
  first.frame.place = 1;
  const Json json = Json::parse(written(*output, {first, over_the_border}, "result.json"));
  EXPECT_EQ(json[0].dump(), R"({"frame_id":1,"filename":"a.jpg","objects":[]})");
  EXPECT_EQ(json[1].dump(), R"({"frame_id":2,"filename":"b.jpg","objects":[{"class_id":0,"name":"dog",)"
                            R"("relative_coordinates":{"center_x":0.15,"center_y":0.265,"width":0.5,)"
                            R"("height":0.33},"confidence":0.123457}]})");
}

TEST_F(Outputs, NumbersInAnswersArePlacesAmongAllFilesOfTheSource) {
  std::vector<FoundObjects> found{image("a.jpg", {{10, 20, 30, 60, 1, 0.75f}}),
                                  image("c.jpg", {{10, 20, 30, 60, 1, 0.75f}})};
  found[0].frame.place = 1;
  found[1].frame.place = 3;  // between them was a file that is not an image
  const auto coco =
      coco_json_output((folder_ / "c.json").string(), CocoIds(Files{"a.jpg", "b.jpg", "c.jpg"}, names_));
  const auto darknet = darknet_json_output((folder_ / "d.json").string(), names_);
  const Json results = Json::parse(written(*coco, found, "c.json")),
             frames = Json::parse(written(*darknet, found, "d.json"));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["image_id"], 1);
  EXPECT_EQ(results[1]["image_id"], 3);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0]["frame_id"], 1);
  EXPECT_EQ(frames[1]["frame_id"], 3);
}

TEST_F(Outputs, TextLabelsAreYolosAndEmptyForBackground) {
  const std::vector<ScoredBox> boxes{{20, 10, 80, 40, 1, 0.9f}, {0, 0, 200, 100, 0, 0.25f}};
  text_label_output(folder_, false)->add(image("a.jpg", boxes));
  EXPECT_EQ(read_file(folder_ / "a.txt"),
            "1 0.250000 0.250000 0.300000 0.300000\n0 0.500000 0.500000 1.000000 1.000000\n");
  text_label_output(folder_, true)->add(image("a.jpg", {boxes[0]}));
  EXPECT_EQ(read_file(folder_ / "a.txt"), "1 0.250000 0.250000 0.300000 0.300000 0.900000\n");
  text_label_output(folder_, true)->add(image("b.jpg", {}));
  EXPECT_EQ(read_file(folder_ / "b.txt"), "");
}

TEST_F(Outputs, CropsLieByClassAndStayInsideTheImage) {
  crop_output(folder_ / "crops", names_)
      ->add(image("a.jpg", {{20.4f, 10, 80, 40, 1, 0.9f}, {150, 50, 200, 100, 0, 0.5f}}));
  const cv::Mat first = cv::imread((folder_ / "crops/cat_kitten/a_1.jpg").string());
  EXPECT_EQ(first.size(), cv::Size(60, 30));
  EXPECT_NEAR(first.at<cv::Vec3b>(5, 5)[2], 200, 4);  // red stays red, and undrawn
  EXPECT_EQ(cv::imread((folder_ / "crops/dog/a_2.jpg").string()).size(), cv::Size(50, 50));
  crop_output(folder_ / "crops", names_)->add(image("b.jpg", {{20.4f, 10.6f, 80.3f, 40.2f, 0, 0.9f}}));
  EXPECT_EQ(cv::imread((folder_ / "crops/dog/b_1.jpg").string()).size(), cv::Size(61, 31))
      << "every pixel that the box touches";
}

/// Counts what is flushed to the disk, while one of these lives.
class CountedFlushes {
 public:
  CountedFlushes() {
    count = 0;
    flush_written = [](int) { return ++count, 0; };
  }
  ~CountedFlushes() { flush_written = ::fsync; }
  static inline int count = 0;
};

TEST_F(Outputs, CropsPicturesAndLabelsAreNotFlushedOneByOne) {
  fs::create_directories(folder_ / "labels");
  const auto crops = crop_output(folder_ / "crops", names_), pictures = picture_output(folder_, names_),
             labels = text_label_output(folder_ / "labels", false);
  const std::vector<ScoredBox> boxes{{20, 10, 80, 40, 1, 0.9f}, {20, 10, 60, 50, 1, 0.8f}};
  crops->add(image("a.jpg", boxes));
  pictures->add(image("a.jpg", boxes));
  labels->add(image("a.jpg", boxes));
  const CountedFlushes flushes;  // the folders are there now
  for (const char* name : {"b.jpg", "c.jpg"}) {
    crops->add(image(name, boxes));
    pictures->add(image(name, boxes));
    labels->add(image(name, boxes));
  }
  pictures->finish();
  EXPECT_TRUE(fs::exists(folder_ / "crops/cat_kitten/c_2.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "c.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "labels/c.txt"));
  EXPECT_EQ(flushes.count, 0);
}

TEST_F(Outputs, ABoxOutsideTheImageHasNoCropAndKeepsItsNumber) {
  crop_output(folder_ / "crops", names_)
      ->add(
          image("a.jpg", {{220, 10, 260, 40, 0, 0.9f}, {10, -40, 60, 0, 0, 0.8f}, {0, 0, 50, 50, 0, 0.5f}}));
  EXPECT_FALSE(fs::exists(folder_ / "crops/dog/a_1.jpg"));
  EXPECT_FALSE(fs::exists(folder_ / "crops/dog/a_2.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "crops/dog/a_3.jpg"));
}

TEST_F(Outputs, PicturesAreDrawnOnACopyAndClipsBecomeVideos) {
  const auto output = picture_output(folder_, names_);
  const FoundObjects still = image("a.PNG", {{20, 10, 80, 40, 1, 0.9f}});
  output->add(still);
  EXPECT_EQ(still.frame.image.at<cv::Vec3b>(10, 50), cv::Vec3b(200, 40, 10));
  const cv::Mat drawn = cv::imread((folder_ / "a.png").string());
  EXPECT_EQ(drawn.size(), cv::Size(200, 100));
  EXPECT_EQ(drawn.at<cv::Vec3b>(80, 150), cv::Vec3b(10, 40, 200)) << "red stays red";
  EXPECT_GT(cv::norm(drawn, cv::Mat(drawn.size(), CV_8UC3, cv::Scalar(10, 40, 200)), cv::NORM_INF), 20);

  const auto one = std::make_shared<Clip>(Clip{"one", 10}), two = std::make_shared<Clip>(Clip{"two", 5});
  for (int i = 0; i < 3; ++i) output->add(frame(one, i));
  FoundObjects smaller = frame(one, 3);  // as a stream may go on
  smaller.frame.image = cv::Mat(50, 100, CV_8UC3, cv::Scalar(200, 40, 10));
  smaller.boxes = {};
  output->add(smaller);
  for (int i = 0; i < 3; ++i) output->add(frame(two, i));
  output->finish();
  for (const auto& [name, frames, rate] : {std::tuple("one", 4, 10), {"two", 3, 5}}) {
    const fs::path mpeg4 = folder_ / (std::string(name) + ".mp4");
    const auto video = make_video_capture();
    video->open(fs::exists(mpeg4) ? mpeg4 : fs::path(mpeg4).replace_extension(".avi"));
    cv::Mat picture;
    int read = 0;
    for (; video->read(picture); ++read) {
      const auto pixel = picture.at<cv::Vec3b>(90, 150);
      EXPECT_NEAR(pixel[2], 200, 25) << "red stays red";
      EXPECT_NEAR(pixel[0], 10, 25);
    }
    EXPECT_EQ(read, frames) << name;
    EXPECT_NEAR(video->get(cv::CAP_PROP_FPS), rate, 0.6 * rate) << name;  // by codec, a frame more or less
    EXPECT_EQ(video->get(cv::CAP_PROP_FRAME_WIDTH), 200);
  }
}

TEST_F(Outputs, AVideoThatWasNeverFinishedIsReplaced) {
  const auto clip = std::make_shared<Clip>(Clip{"clip", 10});
  const auto unfinished = picture_output(folder_, names_);
  unfinished->add(frame(clip, 0));
  const auto again = picture_output(folder_, names_);
  EXPECT_NO_THROW(again->add(frame(clip, 0)));
  again->finish();
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().stem() == "clip") std::ofstream(entry.path()) << "a user's own";
  }
  EXPECT_THROW(picture_output(folder_, names_)->add(frame(clip, 0)), InputError);
}

TEST_F(Outputs, TheListOfWhatIsOursStaysShortAndSurvivesCopying) {
  const fs::path found = folder_ / "found", copy = folder_ / "copy";
  fs::create_directories(found);
  for (int i = 0; i < 5; ++i)
    text_label_output(found, false)
        ->add(image("a.jpg", {{0, 0, 10.0f + static_cast<float>(i), 10, 0, 0.5f}}));
  fs::copy(found, copy, fs::copy_options::recursive);
  EXPECT_NO_THROW(text_label_output(copy, false)->add(image("a.jpg", {})));
  const std::string list = read_file(found / ".brightnet-detect");
  EXPECT_LE(std::count(list.begin(), list.end(), '\n'), 3) << "one line, and two of the last call:\n" << list;
  Frame other;
  other.file = "x.jpg";
  other.name = "a";
  std::ofstream(copy / "a.txt") << "mine";
  EXPECT_THROW(text_label_output(copy, false)->check(other), InputError);
}

TEST_F(Outputs, AnEmptyAnswerIsAnAnswerAndMayBeReplaced) {
  const std::string file = (folder_ / "a.json").string();
  const auto answer = [&] { return json_output(file, names_); };
  answer()->finish();
  EXPECT_EQ(read_file(file), "[\n]\n");
  const auto second = answer();
  second->add(image("a.jpg", {}));
  second->finish();
  EXPECT_NO_THROW(answer());
  write_atomically(file, std::string("[\n]\nmine"));
  EXPECT_THROW(answer(), InputError);
}

TEST_F(Outputs, PicturesHaveTheStyleAskedForAndTheImagesOwnKind) {
  const cv::Mat plain(100, 200, CV_8UC3, cv::Scalar(10, 40, 200));
  const auto changed = [&](const BoxStyle& style) {
    picture_output(folder_, names_, style)->add(image("a.png", {{60, 40, 140, 90, 0, 0.9f}}));
    cv::Mat difference;
    cv::absdiff(cv::imread((folder_ / "a.png").string()), plain, difference);
    return cv::countNonZero(difference.reshape(1));
  };
  const int thin = changed({.line_width = 1, .labels = false});
  EXPECT_GT(thin, 0);
  EXPECT_GT(changed({.line_width = 4, .labels = false}), thin);
  EXPECT_GT(changed({.line_width = 1, .labels = true}), thin);
  for (const char* file : {"b.webp", "c.JPEG", "d.bmp"})
    picture_output(folder_, names_)->add(image(file, {}));
  for (const char* file : {"b.jpg", "c.jpeg", "d.bmp"}) EXPECT_TRUE(fs::exists(folder_ / file)) << file;
}

TEST_F(Outputs, OnlyDarknetsAnswerHasBoxesBeyondTheImage) {
  FoundObjects found = image("a.jpg", {{0, 10, 80, 40, 1, 0.5f}});
  found.uncut[0].x1 = -20;
  const auto answer = [&](std::unique_ptr<DetectionOutput> output, const std::string& file) {
    return written(*output, {found}, file);
  };
  const std::string own = answer(json_output((folder_ / "a.json").string(), names_), "a.json");
  EXPECT_NE(own.find(R"("box":[0.0,10.0,80.0,40.0])"), std::string::npos) << own;
  const std::string coco =
      answer(coco_json_output((folder_ / "c.json").string(), CocoIds(Files{}, names_)), "c.json");
  EXPECT_NE(coco.find(R"("bbox":[0.0,10.0,80.0,30.0])"), std::string::npos) << coco;
  text_label_output(folder_, false)->add(found);
  EXPECT_EQ(read_file(folder_ / "a.txt"), "1 0.200000 0.250000 0.400000 0.300000\n");
}

TEST_F(Outputs, PicturesAreWrittenWhereNothingElseIsAskedForOrAFolderIsNamed) {
  EXPECT_TRUE(writes_pictures({}));
  EXPECT_FALSE(writes_pictures({.no_save = true}));
  EXPECT_FALSE(writes_pictures({.out = "found", .no_save = true}));
  EXPECT_EQ(pictures_folder({}), fs::path("runs/detect"));
  EXPECT_EQ(pictures_folder({.out = "found"}), fs::path("found"));
  std::vector<DetectionOptions> others(5);
  others[0].json = "-";
  others[1].coco_json = "a.json";
  others[2].darknet_json = "a.json";
  others[3].txt = "labels";
  others[4].save_crops = true;
  for (DetectionOptions& other : others) {
    EXPECT_FALSE(writes_pictures(other));
    other.out = "found";
    EXPECT_TRUE(writes_pictures(other));
  }
  EXPECT_TRUE(box_style({}).labels);
  EXPECT_FALSE(box_style({.hide_labels = true}).labels);
  EXPECT_EQ(box_style({.line_width = 3}).line_width, 3);
}

TEST_F(Outputs, OptionsThatAreNotGivenAreThoseOfTheManual) {
  const DetectionOptions options;
  EXPECT_EQ(options.confidence, 0.25f);
  EXPECT_EQ(options.nms, 0.45f);
  EXPECT_EQ(options.every, 1);
  EXPECT_EQ(options.frames, 0);
  EXPECT_EQ(options.max_objects, 0);
  EXPECT_FALSE(options.class_agnostic || options.rect || options.show || options.scores || options.save_conf);
}

TEST_F(Outputs, OptionsWithoutEffectAreRefused) {
  EXPECT_THROW(refuse_idle_outputs({.save_conf = true}), InputError);
  EXPECT_NO_THROW(refuse_idle_outputs({.txt = "labels", .save_conf = true}));
  EXPECT_THROW(refuse_idle_outputs({.no_save = true, .line_width = 2}), InputError);
  EXPECT_THROW(refuse_idle_outputs({.no_save = true, .hide_labels = true}), InputError);
  EXPECT_NO_THROW(refuse_idle_outputs({.no_save = true, .hide_labels = true, .show = true}));
  EXPECT_THROW(refuse_idle_outputs({.coco_ids = "instances.json"}), InputError);
  EXPECT_NO_THROW(refuse_idle_outputs({.coco_json = "a.json", .coco_ids = "instances.json"}));
  EXPECT_THROW(refuse_idle_outputs({.out = "found", .no_save = true}), InputError);
  EXPECT_NO_THROW(refuse_idle_outputs({.out = "found", .save_crops = true, .no_save = true}));
}

}  // namespace
}  // namespace brightnet
