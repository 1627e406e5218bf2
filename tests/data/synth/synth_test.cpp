#include "data/synth/synth.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "data/synth/texture.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

SynthOptions small_options() {
  SynthOptions options;
  options.train_images = 6;
  options.val_images = 3;
  options.size = 96;
  return options;
}

/// An empty folder of this test's own.
fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("synth_" + name);
  fs::remove_all(folder);
  fs::remove_all(folder.string() + ".unfinished");
  return folder;
}

bool same_pixels(const cv::Mat& a, const cv::Mat& b) {
  return a.size() == b.size() && cv::norm(a, b, cv::NORM_INF) == 0;
}

double colour_distance(const cv::Scalar& a, const cv::Scalar& b) {
  return cv::norm(cv::Vec3d(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
}

TEST(Synth, ATextureOfZerosIsTheBaseAndOnesAreTheOtherColour) {
  const Colour base(200, 40, 10);
  cv::Mat field(1, 3, CV_32F);
  field.at<float>(0) = 0, field.at<float>(1) = 0.5f, field.at<float>(2) = 1;
  Random random(1, Purpose::test), same(1, Purpose::test);
  const cv::Mat pixels = coloured(random, field, base, 0.75f);
  const Colour other = base * 0.25f + any_colour(same) * 0.75f;
  EXPECT_EQ(pixels.at<Colour>(0), base);
  EXPECT_LT(cv::norm(pixels.at<Colour>(1) - (base + other) * 0.5f), 1e-3);
  EXPECT_LT(cv::norm(pixels.at<Colour>(2) - other), 1e-3);
}

TEST(Synth, AnImageDoesNotDependOnWhatElseIsDrawn) {
  const auto options = small_options();
  const auto alone = draw_synthetic_image(options, Split::train, 5);
  draw_synthetic_image(options, Split::val, 2);
  const auto again = draw_synthetic_image(options, Split::train, 5);
  EXPECT_TRUE(same_pixels(alone.pixels, again.pixels));
  ASSERT_EQ(alone.annotations.size(), again.annotations.size());
  auto other = options;
  other.seed = 1;
  EXPECT_FALSE(same_pixels(alone.pixels, draw_synthetic_image(other, Split::train, 5).pixels));
  EXPECT_FALSE(same_pixels(alone.pixels, draw_synthetic_image(options, Split::train, 4).pixels));
  EXPECT_FALSE(same_pixels(alone.pixels, draw_synthetic_image(options, Split::val, 5).pixels));
}

TEST(Synth, ObjectsAreWithinTheImageTheCountsAndTheClasses) {
  auto options = small_options();
  options.min_objects = 2;
  options.max_objects = 5;
  options.classes = 4;
  std::vector<int> of_class(4, 0);
  for (int i = 0; i < 60; ++i) {
    const auto image = draw_synthetic_image(options, Split::train, i);
    EXPECT_EQ(image.pixels.size(), cv::Size(96, 96));
    EXPECT_EQ(image.pixels.type(), CV_8UC3);
    EXPECT_GE(image.annotations.size(), 2u);
    EXPECT_LE(image.annotations.size(), 5u);
    for (const auto& a : image.annotations) {
      ASSERT_TRUE(a.class_id >= 0 && a.class_id < 4);
      ++of_class[static_cast<size_t>(a.class_id)];
      EXPECT_TRUE(a.x1 >= 0 && a.y1 >= 0 && a.x2 <= 96 && a.y2 <= 96) << "image " << i;
      EXPECT_TRUE(a.x2 - a.x1 > 4 && a.y2 - a.y1 > 4) << "image " << i;
      EXPECT_FLOAT_EQ(a.area, (a.x2 - a.x1) * (a.y2 - a.y1));
    }
  }
  for (const int count : of_class) EXPECT_GT(count, 25);
}

TEST(Synth, AHeightOfItsOwnAndTheObjectsSizeAreKept) {
  auto options = small_options();
  options.height = 64;
  options.object_size = 16;
  options.classes = 1;  // discs of 0.9 of the size, which is between 0.7 and 1.4 of what is asked for
  double margin = 1;    // between the rightmost object and the side
  for (int i = 0; i < 40; ++i) {
    const auto image = draw_synthetic_image(options, Split::train, i);
    ASSERT_EQ(image.pixels.size(), cv::Size(96, 64));
    for (const auto& a : image.annotations) {
      EXPECT_TRUE(a.x1 >= 0 && a.y1 >= 0 && a.x2 <= 96 && a.y2 <= 64) << "image " << i;
      EXPECT_GT(std::min(a.x2 - a.x1, a.y2 - a.y1), 6.5f) << "image " << i;
      EXPECT_LT(std::max(a.x2 - a.x1, a.y2 - a.y1), 24) << "image " << i;
      margin = std::min(margin, 1 - a.x2 / 96.0);
    }
  }
  EXPECT_LT(margin, 0.1) << "objects are all over the width";
  const auto folder = fresh_folder("flat");
  options.train_images = options.val_images = 1;
  options.min_objects = options.max_objects = 3;
  make_synthetic_dataset(options, folder);
  EXPECT_EQ(cv::imread((folder / "images/val/000000.jpg").string()).size(), cv::Size(96, 64));
  std::ifstream labels(folder / "labels/val/000000.txt");
  int class_id = -1;
  float x = 0, y = 0, w = 0, h = 0;
  for (const auto& a : draw_synthetic_image(options, Split::val, 0).annotations) {
    ASSERT_TRUE(labels >> class_id >> x >> y >> w >> h);
    EXPECT_NEAR((x - w / 2) * 96, a.x1, 1e-3);
    EXPECT_NEAR((y + h / 2) * 64, a.y2, 1e-3);
  }
}

// Finds each disc again by its colour alone, knowing only where its middle should be.
TEST(Synth, BoxesAreWhereThePixelsAre) {
  SynthOptions options;
  options.classes = 1;
  options.min_objects = options.max_objects = 1;
  int tried = 0, found = 0;
  for (int i = 0; i < 120; ++i) {
    const auto image = draw_synthetic_image(options, Split::train, i);
    const auto& a = image.annotations.at(0);
    const cv::Point2f centre((a.x1 + a.x2) / 2, (a.y1 + a.y2) / 2);
    const cv::Size2f half((a.x2 - a.x1) / 2, (a.y2 - a.y1) / 2);
    cv::Mat inner = cv::Mat::zeros(image.pixels.size(), CV_8U), outer = inner.clone();
    cv::ellipse(inner, cv::RotatedRect(centre, half * 1.4f, 0), 255, cv::FILLED);
    cv::ellipse(outer, cv::RotatedRect(centre, half * 3.2f, 0), 255, cv::FILLED);
    cv::ellipse(outer, cv::RotatedRect(centre, half * 2.4f, 0), 0, cv::FILLED);
    cv::Mat smooth;
    cv::medianBlur(image.pixels, smooth, 3);
    const cv::Scalar object = cv::mean(smooth, inner), ground = cv::mean(smooth, outer);
    if (colour_distance(object, ground) < 80) continue;
    ++tried;
    cv::Mat mask = cv::Mat::zeros(smooth.size(), CV_8U);
    for (int y = 0; y < smooth.rows; ++y) {
      for (int x = 0; x < smooth.cols; ++x) {
        const auto pixel = smooth.at<cv::Vec3b>(y, x);
        const cv::Scalar colour(pixel[0], pixel[1], pixel[2]);
        mask.at<uint8_t>(y, x) = colour_distance(colour, object) < 0.8 * colour_distance(colour, ground);
      }
    }
    cv::morphologyEx(mask, mask, cv::MORPH_OPEN, cv::getStructuringElement(cv::MORPH_ELLIPSE, {7, 7}));
    cv::Mat labels, stats, centroids;
    cv::connectedComponentsWithStats(mask, labels, stats, centroids);
    const int id = labels.at<int>(static_cast<int>(centre.y), static_cast<int>(centre.x));
    if (id == 0) continue;
    const auto* s = stats.ptr<int>(id);
    const float worst =
        std::max({std::abs(static_cast<float>(s[cv::CC_STAT_LEFT]) - a.x1),
                  std::abs(static_cast<float>(s[cv::CC_STAT_TOP]) - a.y1),
                  std::abs(static_cast<float>(s[cv::CC_STAT_LEFT] + s[cv::CC_STAT_WIDTH]) - a.x2),
                  std::abs(static_cast<float>(s[cv::CC_STAT_TOP] + s[cv::CC_STAT_HEIGHT]) - a.y2)});
    found += worst < 3;
  }
  EXPECT_GT(tried, 40);
  EXPECT_GE(found, tried * 8 / 10) << "of " << tried;
}

// Strokes are what leaves sharp edges in a picture without objects; one in five has none.
TEST(Synth, MostPicturesHaveStrokesThatAreNoObjects) {
  SynthOptions options;
  options.size = 128;
  options.min_objects = options.max_objects = 0;
  int with_strokes = 0;
  for (int i = 0; i < 40; ++i) {
    const auto image = draw_synthetic_image(options, Split::train, i);
    EXPECT_TRUE(image.annotations.empty());
    cv::Mat smooth, edges;
    cv::medianBlur(image.pixels, smooth, 5);
    cv::morphologyEx(smooth, edges, cv::MORPH_GRADIENT, cv::Mat::ones(3, 3, CV_8U));
    cv::Mat steep = edges.reshape(1) > 60;
    with_strokes += cv::countNonZero(steep) > options.size;
  }
  EXPECT_GT(with_strokes, 20);
}

TEST(Synth, TheFolderHoldsWhatWasDrawn) {
  const auto options = small_options();
  const auto folder = fresh_folder("folder");
  make_synthetic_dataset(options, folder);
  const auto document = YamlDocument::load(folder / "data.yaml").root().node;
  EXPECT_EQ(document["format"].as<std::string>(), "yolo");
  EXPECT_FALSE(document["root"].IsDefined())
      << "a copy would be read from the folder that it was copied from";
  EXPECT_EQ(document["train"].as<std::string>(), "images/train");
  EXPECT_EQ(document["val"].as<std::string>(), "images/val");
  EXPECT_EQ(document["classes"].as<std::vector<std::string>>(), synth_class_names());

  const auto count = [](const fs::path& place) {
    return std::distance(fs::directory_iterator(place), fs::directory_iterator());
  };
  EXPECT_EQ(count(folder / "images/train"), 6);
  EXPECT_EQ(count(folder / "labels/train"), 6);
  EXPECT_EQ(count(folder / "images/val"), 3);
  EXPECT_EQ(count(folder / "labels/val"), 3);

  for (int i = 0; i < 3; ++i) {
    const auto image = draw_synthetic_image(options, Split::val, i);
    const auto name = "00000" + std::to_string(i);
    cv::Mat stored = cv::imread((folder / "images/val" / (name + ".jpg")).string());
    cv::cvtColor(stored, stored, cv::COLOR_BGR2RGB);
    EXPECT_LT(cv::norm(stored, image.pixels, cv::NORM_L1) / static_cast<double>(stored.total() * 3), 8);
    std::ifstream labels(folder / "labels/val" / (name + ".txt"));
    size_t line = 0;
    int class_id;
    float x, y, w, h;
    for (; labels >> class_id >> x >> y >> w >> h; ++line) {
      const auto& a = image.annotations.at(line);
      EXPECT_EQ(class_id, a.class_id);
      EXPECT_NEAR((x - w / 2) * 96, a.x1, 1e-3);
      EXPECT_NEAR((y - h / 2) * 96, a.y1, 1e-3);
      EXPECT_NEAR((x + w / 2) * 96, a.x2, 1e-3);
      EXPECT_NEAR((y + h / 2) * 96, a.y2, 1e-3);
    }
    EXPECT_EQ(line, image.annotations.size());
  }
}

TEST(Synth, ReplacesItsOwnFolderAndLeavesNothingBeside) {
  auto options = small_options();
  const auto folder = fresh_folder("again");
  make_synthetic_dataset(options, folder);
  options.train_images = 2;
  make_synthetic_dataset(options, folder / "");  // a trailing slash names the same folder
  EXPECT_FALSE(fs::exists(folder / "images/train/000005.jpg"));
  EXPECT_TRUE(fs::exists(folder / "images/train/000001.jpg"));
  EXPECT_FALSE(fs::exists(folder.string() + ".unfinished"));
}

TEST(Synth, ForgetsWhatAnInterruptedCallLeft) {
  const auto folder = fresh_folder("interrupted");
  fs::create_directories(folder.string() + ".unfinished/images/train");
  write_atomically(folder.string() + ".unfinished/images/train/000099.jpg", "half");
  make_synthetic_dataset(small_options(), folder);
  EXPECT_FALSE(fs::exists(folder / "images/train/000099.jpg"));
}

TEST(Synth, NeverTouchesAFolderOfSomebodyElse) {
  const auto folder = fresh_folder("foreign");
  fs::create_directories(folder);
  write_atomically(folder / "holiday.jpg", "precious");
  EXPECT_THROW(make_synthetic_dataset(small_options(), folder), InputError);
  EXPECT_EQ(read_file(folder / "holiday.jpg"), "precious");

  // A YOLO data set of the user's, with the same names as ours.
  fs::remove_all(folder);
  fs::create_directories(folder / "images/train");
  write_atomically(folder / "images/train/000000.jpg", "precious");
  write_atomically(folder / "data.yaml", "format: yolo\n");
  EXPECT_THROW(make_synthetic_dataset(small_options(), folder), InputError);
  EXPECT_EQ(read_file(folder / "images/train/000000.jpg"), "precious");
}

TEST(Synth, NeverDeletesWhatSomebodyAddedToItsFolder) {
  const auto folder = fresh_folder("added");
  make_synthetic_dataset(small_options(), folder);
  write_atomically(folder / "images/train/mine.jpg", "precious");
  try {
    make_synthetic_dataset(small_options(), folder);
    FAIL() << "the folder was replaced";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("mine.jpg"), std::string::npos) << e.what();
  }
  EXPECT_EQ(read_file(folder / "images/train/mine.jpg"), "precious");
  EXPECT_TRUE(fs::exists(folder / "images/train/000000.jpg"));
}

TEST(Synth, NamesALinkToItselfInItsFolder) {
  const auto folder = fresh_folder("loop");
  make_synthetic_dataset(small_options(), folder);
  fs::create_symlink("mine", folder / "images/mine");
  try {
    make_synthetic_dataset(small_options(), folder);
    FAIL() << "the folder was replaced";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("images/mine: this is not part"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(fs::is_symlink(folder / "images/mine"));
}

TEST(Synth, NeverDeletesALinkInThePlaceOfAFileOfItsOwn) {
  const auto folder = fresh_folder("linked"), link = folder / "images/train/000000.jpg";
  make_synthetic_dataset(small_options(), folder);
  fs::remove(link);
  fs::create_symlink("000001.jpg", link);
  EXPECT_THROW(make_synthetic_dataset(small_options(), folder), InputError);
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST(Synth, TheCurrentFolderIsNotReplaced) {
  const fs::path folder = fresh_folder("current"), before = fs::current_path();
  make_synthetic_dataset(small_options(), folder);
  for (const fs::path& in : {folder, folder / "images"}) {
    fs::current_path(in);
    const fs::path same = fs::proximate(folder);
    EXPECT_THROW(make_synthetic_dataset(small_options(), same), InputError) << same;
    EXPECT_THROW(make_synthetic_dataset(small_options(), same / ""), InputError) << same;
    fs::current_path(before);
    EXPECT_TRUE(fs::exists(folder / "data.yaml")) << same;
    EXPECT_TRUE(fs::exists(folder / "images/val/000002.jpg")) << same;
  }
  fs::remove_all(folder);
}

TEST(Synth, RefusesOptionsOutsideTheirRanges) {
  const auto folder = fresh_folder("ranges");
  const auto refused = [&](auto change) {
    auto options = small_options();
    change(options);
    EXPECT_THROW(make_synthetic_dataset(options, folder), InputError);
    EXPECT_FALSE(fs::exists(folder));
    EXPECT_FALSE(fs::exists(folder.string() + ".unfinished"));
  };
  refused([](SynthOptions& o) { o.train_images = 0; });
  refused([](SynthOptions& o) { o.val_images = -1; });
  refused([](SynthOptions& o) { o.size = 16; });
  refused([](SynthOptions& o) { o.classes = 7; });
  refused([](SynthOptions& o) { o.classes = 0; });
  refused([](SynthOptions& o) { o.min_objects = 7; });
  refused([](SynthOptions& o) { o.max_objects = 1001; });
  refused([](SynthOptions& o) { o.height = 31; });
  refused([](SynthOptions& o) { o.object_size = 7; });
  refused([](SynthOptions& o) { o.object_size = 49; });  // more than half of 96
  refused([](SynthOptions& o) { o.height = 64, o.object_size = 33; });
  refused([](SynthOptions& o) { o.object_size = 48, o.min_objects = o.max_objects = 100; });  // no room
}

}  // namespace
}  // namespace brightnet
