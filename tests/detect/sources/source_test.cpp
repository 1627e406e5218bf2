#include "detect/sources/source.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>

#include "core/error.h"
#include "core/log.h"
#include "detect/sources/video.h"
#include "tests/detect/clip.h"
#include "tests/logged.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using testing::write_clip;

class Sources : public ::testing::Test {
 protected:
  Sources() {
    folder_ = fs::path(::testing::TempDir()) /
              ("sources_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Sources() override { fs::remove_all(folder_); }

  void image(const std::string& path) const {
    fs::create_directories((folder_ / path).parent_path());
    cv::imwrite((folder_ / path).string(), cv::Mat(8, 8, CV_8UC3, cv::Scalar(1, 2, 3)));
  }
  static std::vector<std::string> names(Source& source) {
    std::vector<std::string> all;
    for (Frame frame; source.next(frame);) all.push_back(frame.name);
    return all;
  }
  std::vector<std::string> names(const std::string& text, const SourceOptions& options = {}) const {
    return names(*open_source((folder_ / text).string(), options));
  }
  static std::string refusal(const std::string& text, const SourceOptions& options = {}) {
    try {
      open_source(text, options);
    } catch (const InputError& e) {
      return e.what();
    }
    return "nothing was thrown";
  }

  using Names = std::vector<std::string>;
  fs::path folder_;
};

TEST_F(Sources, AnImageOfMorePixelsThanTheLimitIsAFrameWithAFailure) {
  image("a.png");
  for (const uint64_t limit : {63, 64}) {
    const auto source = open_source((folder_ / "a.png").string(), {.max_pixels = limit});
    Frame frame;
    ASSERT_TRUE(source->next(frame));
    source->decode(frame, {});
    EXPECT_EQ(frame.image.empty(), limit == 63);
    EXPECT_EQ(frame.failure, limit == 63 ? "it has 64 pixels, and at most 63 are decoded" : "");
  }
}

/// A GIF is opened as a video.
TEST_F(Sources, AGifOfMorePixelsThanTheLimitIsRefusedAloneAndSkippedAmongOthers) {
  std::ofstream(folder_ / "a.gif", std::ios::binary)
      << "GIF89a" << '\x64' << '\0' << '\x0a' << '\0' << std::string(3, '\0');
  image("z.png");
  EXPECT_NE(refusal((folder_ / "a.gif").string(), {.max_pixels = 999})
                .find("it has 1000 pixels, and at most 999 are decoded"),
            std::string::npos);
  EXPECT_EQ(refusal((folder_ / "a.gif").string(), {.max_pixels = 1000}).find("pixels"), std::string::npos);
  const auto source = open_source(folder_.string(), {.max_pixels = 999});
  Frame frame;
  ASSERT_TRUE(source->next(frame));
  EXPECT_EQ(frame.failure, "it has 1000 pixels, and at most 999 are decoded");
  ASSERT_TRUE(source->next(frame));
  EXPECT_EQ(frame.failure, "");
}

TEST_F(Sources, AFolderIsItsImagesAndVideosByName) {
  image("b.png");
  image("a.JPG");
  image("sub/c.jpg");
  write_clip(folder_ / "ab.avi", 2);
  std::ofstream(folder_ / "notes.txt") << "x";
  EXPECT_EQ(names(""), (Names{"a", "ab_000000", "ab_000001", "b"}));
  EXPECT_EQ(open_source(folder_.string())->count(), -1);  // how long the video is shows when it is opened
  EXPECT_EQ(open_source((folder_ / "sub").string())->count(), 1);
}

TEST_F(Sources, NoImageIsCalledLikeAFrameOfAVideo) {
  write_clip(folder_ / "clip.avi", 2);
  image("clip_000000.jpg");
  image("clip_2_1234567.jpg");
  image("clip_3.jpg");
  write_clip(folder_ / "other.avi", 1);
  image("other_12345.jpg");  // too short for a frame
  image("other_1234567x.jpg");
  EXPECT_EQ(names(""), (Names{"clip_4_000000", "clip_4_000001", "clip_000000", "clip_2_1234567", "clip_3",
                              "other_000000", "other_12345", "other_1234567x"}));
}

TEST_F(Sources, NoFileIsGivenTheNameOfAnother) {
  image("im.jpg");
  image("im.png");
  image("im_2.jpg");
  write_clip(folder_ / "im_3.avi", 1);
  EXPECT_EQ(open_source(folder_.string())->names(), (Names{"im", "im_4", "im_2", "im_3"}));
  fs::remove(folder_ / "im_3.avi");
  EXPECT_EQ(names(""), (Names{"im", "im_3", "im_2"}));
}

TEST_F(Sources, APatternAndAListNameFiles) {
  image("x/1.jpg");
  image("y/1.jpg");
  image("y/2.png");
  EXPECT_EQ(names("*/[12].*"), (Names{"1", "1_2", "2"}));  // no name twice
  std::ofstream(folder_ / "list.txt") << "y/2.png\r\n\n" << (folder_ / "x/1.jpg").string() << "\ngone.jpg\n";
  const auto list = open_source((folder_ / "list.txt").string());
  EXPECT_EQ(list->count(), 3);
  EXPECT_EQ(names(*list), (Names{"2", "1", "gone"}));
}

// As darknet's lists do.
TEST_F(Sources, AListNamesFilesFromTheCurrentFolderOrFromItsOwn) {
  image("pictures/a.jpg");
  image("lists/own/b.jpg");
  std::ofstream(folder_ / "lists/list.txt") << "a.jpg\nown/b.jpg\n";
  const fs::path list = fs::absolute(folder_ / "lists/list.txt"), before = fs::current_path();
  fs::current_path(folder_ / "pictures");
  const auto source = open_source(list.string());
  std::vector<bool> there;
  for (const fs::path& file : source->files()) there.push_back(fs::exists(file));
  fs::current_path(before);
  EXPECT_EQ(there, (std::vector<bool>{true, true})) << "both are found where they are";
}

TEST_F(Sources, AListMayEndInCapitals) {
  image("a.jpg");
  for (const char* list : {"list.TXT", "list.Txt"}) {
    std::ofstream(folder_ / list) << "a.jpg\n";
    EXPECT_EQ(names(list), Names{"a"}) << list;
  }
}

TEST_F(Sources, AVideosFramesAreNumberedAndCanBeThinnedOut) {
  write_clip(folder_ / "clip.avi", 7, 10);
  const auto source = open_source((folder_ / "clip.avi").string());
  EXPECT_EQ(source->count(), 7);
  EXPECT_FALSE(source->live());
  Frame frame;
  std::shared_ptr<const Clip> clip;
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(source->next(frame));
    EXPECT_EQ(frame.number, i);
    ASSERT_TRUE(frame.clip);
    if (clip) {
      EXPECT_EQ(frame.clip, clip);
    }
    clip = frame.clip;
    EXPECT_NEAR(frame.image.at<cv::Vec3b>(2, 2)[2], testing::clip_red(i), 6) << "frame " << i;
  }
  EXPECT_FALSE(source->next(frame));
  EXPECT_FALSE(source->next(frame));
  EXPECT_EQ(clip->frames_per_second, 10);
  const auto thinned = open_source((folder_ / "clip.avi").string(), {.every = 2});
  ASSERT_TRUE(thinned->next(frame));
  EXPECT_EQ(frame.clip->frames_per_second, 5) << "of those handed out";

  EXPECT_EQ(names("clip.avi", {.frames = 2}), (Names{"clip_000000", "clip_000001"}));
  EXPECT_EQ(names("clip.avi", {.frames = 0, .every = 3}),
            (Names{"clip_000000", "clip_000003", "clip_000006"}));
  EXPECT_EQ(open_source((folder_ / "clip.avi").string(), {.frames = 0, .every = 3})->count(), 3);
  EXPECT_EQ(open_source((folder_ / "clip.avi").string(), {.frames = 2, .every = 3})->count(), 2);
}

TEST_F(Sources, AVideoThatEndsEarlyIsReportedHoweverManyFramesAreSkipped) {
  const fs::path whole = folder_ / "whole.avi", cut = folder_ / "cut.avi";
  write_clip(whole, 60);
  fs::copy(whole, cut);
  fs::resize_file(cut, fs::file_size(cut) / 2);
  for (const int every : {1, 20}) {  // 20: it ends among frames that are skipped
    const testing::Logged logged;
    EXPECT_FALSE(names("cut.avi", {.every = every}).empty());
    EXPECT_NE(logged.text().find("of 60 frames; the file may be damaged"), std::string::npos)
        << every << ": " << logged.text();
  }
  for (const int every : {1, 7, 20}) {
    const testing::Logged logged;
    EXPECT_EQ(names("whole.avi", {.every = every}).size(), static_cast<size_t>((59 + every) / every));
    EXPECT_EQ(logged.text(), "") << every;
  }
}

/// Writes another number of frames into both headers of a Motion JPEG.
void promise_frames(const fs::path& avi, uint32_t frames) {
  std::fstream file(avi, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  // 'avih', its length, four numbers; 'strh', its length, eight numbers.
  for (const auto& [chunk, before] : {std::pair("avih", 4), {"strh", 8}}) {
    const size_t at = bytes.find(chunk);
    ASSERT_NE(at, std::string::npos) << chunk;
    file.seekp(static_cast<std::streamoff>(at + 8 + 4 * static_cast<size_t>(before)));
    file.write(reinterpret_cast<const char*>(&frames), sizeof frames);
  }
}

// In some containers the header has an estimate only.
TEST_F(Sources, AFrameOrTwoLessThanAShortVideoPromisesIsNoDamage) {
  const auto said_of = [&](uint32_t promised) {
    write_clip(folder_ / "clip.avi", 10);
    promise_frames(folder_ / "clip.avi", promised);
    EXPECT_EQ(open_source((folder_ / "clip.avi").string())->count(), promised);
    const testing::Logged logged;
    EXPECT_EQ(names("clip.avi").size(), 10u) << promised;
    return logged.text();
  };
  for (const uint32_t promised : {10u, 11u, 12u}) EXPECT_EQ(said_of(promised), "") << promised;
  const std::string missing = said_of(13);
  EXPECT_NE(missing.find("ends after 10 of 13 frames"), std::string::npos) << missing;
}

TEST_F(Sources, VideosAreKnownByTheirEndings) {
  for (const char* ending : {"mp4", "avi", "mkv", "mov", "webm", "m4v", "mpg", "mpeg", "wmv", "flv", "ts",
                             "3gp", "ogv", "asf", "gif", "mjpg", "mjpeg", "MP4"}) {
    EXPECT_TRUE(is_video_name(std::string("a.") + ending)) << ending;
  }
  for (const char* other : {"a.jpg", "a.txt", "mp4", "a.mp3"}) EXPECT_FALSE(is_video_name(other)) << other;
}

TEST_F(Sources, AnAddressIsAStream) {
  write_clip(folder_ / "clip.avi", 3);
  const auto source = open_source("file://" + fs::absolute(folder_ / "clip.avi").string());
  EXPECT_TRUE(source->live());
  EXPECT_EQ(names(*source).size(), 3u);
}

TEST_F(Sources, AStreamThatEndsByItselfIsReportedOnce) {
  const fs::path file = fs::absolute(folder_ / "camera.mjpg");  // says nowhere how long it is
  {
    std::ofstream out(file, std::ios::binary);
    for (int i = 0; i < 5; ++i) {
      std::vector<uint8_t> jpeg;
      cv::imencode(".jpg", cv::Mat(48, 64, CV_8UC3, cv::Scalar(60, 90, testing::clip_red(i))), jpeg);
      out.write(reinterpret_cast<const char*>(jpeg.data()), static_cast<std::streamsize>(jpeg.size()));
    }
  }
  const std::string address = "file://" + file.string();
  const auto said = [&](const std::string& text, const SourceOptions& options) {
    const testing::Logged logged;
    const auto source = open_source(text, options);
    names(*source);
    Frame frame;
    EXPECT_FALSE(source->next(frame));
    return logged.text();
  };
  for (const int every : {1, 3}) {
    const std::string warning = said(address, {.every = every});
    EXPECT_EQ(warning.find(address + " gave no more frames after 5"), 0u) << warning;
    EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1) << warning;
  }
  EXPECT_EQ(said(address, {.frames = 3}), "") << "as many as were asked for";
  EXPECT_EQ(open_source(address)->count(), -1) << "which nobody knows";
  EXPECT_EQ(open_source(address, {.frames = 3})->count(), 3);
  EXPECT_EQ(said(file.string(), {}), "") << "a file has an end";
  write_clip(folder_ / "clip.avi", 3);
  EXPECT_EQ(said("file://" + fs::absolute(folder_ / "clip.avi").string(), {}), "")
      << "an end that it announced";
}

TEST_F(Sources, NoPartOfAPasswordIsLeftInAnAddress) {
  for (const char* address :
       {"rtsp://cam/live", "rtsp://admin@cam/live", "rtsp://admin:pass@cam/live",
        "rtsp://admin:p@ss@cam/live", "rtsp://admin:p/ss@cam/live", "rtsp://admin:p/s@s@cam/live",
        "rtsp://admin:p@s/s@cam/live", "rtsp://admin:p?s#s@cam/live", "rtsp://ad@min:p:/@cam/live",
        "rtsp://admin:12/ss@cam/live", "rtsp://admin:p@s:12/s@cam/live"}) {
    EXPECT_EQ(without_credentials(address), "rtsp://cam/live") << address;
  }
  for (const char* none : {"rtsp://cam/live@2x", "rtsp://cam:554/live", "rtsp://[::1]:554/live@2x",
                           "rtsp://cam", "clip@2x.mp4", "a:b@c.mp4"})
    EXPECT_EQ(without_credentials(none), none);
  EXPECT_EQ(without_credentials("rtsp://admin@cam/live@2x"), "rtsp://cam/live@2x");
  EXPECT_EQ(without_credentials("rtsp://admin:p@ss@cam:554/live@2x"), "rtsp://…@2x")
      << "may be p@ss@cam:554/live";
  EXPECT_EQ(without_credentials("rtsp://admin:12/ss@10.0.0.1"), "rtsp://10.0.0.1");
  EXPECT_EQ(without_credentials("rtsp://admin:12/pw@cam"), "rtsp://…@cam");
  EXPECT_EQ(without_credentials("rtsp://cam:554/live@2x"), "rtsp://…@2x") << "which looks like the one above";
}

TEST_F(Sources, AStreamThatCannotBeOpenedTellsNobodyItsPassword) {
  const auto before = cv::utils::logging::getLogLevel();
  ::testing::internal::CaptureStderr();
  std::string said;
  try {
    open_source("rtsp://admin:secret@127.0.0.1:1/live", {});
  } catch (const InputError& e) {
    said = e.what();
  }
  said += ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("this stream cannot be opened"), std::string::npos) << said;
  EXPECT_EQ(said.find("secret"), std::string::npos) << said;
  EXPECT_EQ(cv::utils::logging::getLogLevel(), before) << "it is the process's own";
}

TEST_F(Sources, AnAddressInAListIsRefusedWithoutItsPassword) {
  image("a.jpg");
  std::ofstream(folder_ / "cameras.txt") << "a.jpg\n\nrtsp://admin:s3cret@cam/live\n";
  const std::string said = refusal((folder_ / "cameras.txt").string());
  EXPECT_NE(said.find("rtsp://cam/live"), std::string::npos) << said;
  EXPECT_NE(said.find("cameras.txt:3"), std::string::npos) << said;
  for (const char* word : {"admin", "s3cret"}) EXPECT_EQ(said.find(word), std::string::npos) << said;
}

TEST_F(Sources, AFileThatIsNoVideoIsRefusedAloneAndSkippedAmongOthers) {
  std::ofstream(folder_ / "broken.mp4") << "this is text";
  image("z.png");
  const std::string message = refusal((folder_ / "broken.mp4").string());
  EXPECT_NE(message.find("broken.mp4"), std::string::npos) << message;
  EXPECT_NE(message.find("cannot be opened"), std::string::npos) << message;
  const auto source = open_source(folder_.string());
  Frame frame;
  ASSERT_TRUE(source->next(frame));
  EXPECT_FALSE(frame.failure.empty());
  ASSERT_TRUE(source->next(frame));
  EXPECT_TRUE(frame.failure.empty());
  EXPECT_FALSE(source->next(frame));
}

TEST_F(Sources, AVideoWithoutAFrameThatCanBeDecodedIsAFrameWithAFailure) {
  image("a.png");
  const std::string cut_gif = {'G', 'I', 'F', '8', '9', 'a', 8, 0, 8, 0, '\x80', 0, 0, 0, 0,
                               0,   -1,  -1,  -1,  ',', 0,   0, 0, 0, 8, 0,      8, 0, 0, 2};
  std::ofstream(folder_ / "b.gif", std::ios::binary) << cut_gif;
  write_clip(folder_ / "c.avi", 30);
  std::string avi;
  {
    std::ifstream in(folder_ / "c.avi", std::ios::binary);
    avi.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t at = 0; (at = avi.find("\xFF\xD8\xFF", at)) != std::string::npos;) {
    const size_t end = std::min(avi.find("00dc", at), avi.find("idx1", at));
    std::fill(avi.begin() + static_cast<std::ptrdiff_t>(at), avi.begin() + static_cast<std::ptrdiff_t>(end),
              0);
  }
  std::ofstream(folder_ / "c.avi", std::ios::binary) << avi;
  const testing::Logged logged;
  const auto source = open_source(folder_.string());
  std::vector<std::string> failed;
  for (Frame frame; source->next(frame);) {
    if (!frame.failure.empty()) failed.push_back(fs::path(frame.file).filename().string());
  }
  EXPECT_EQ(failed, (Names{"b.gif", "c.avi"}));
  EXPECT_EQ(logged.text(), "") << "what skips them says so";
}

TEST_F(Sources, ImagesOfAKindThatIsNotReadHereAreReported) {
  image("a.png");
  for (const char* name : {"a.HEIC", "c.avif", "._d.heic"})
    std::ofstream(folder_ / name, std::ios::binary) << std::string(4, '\0') + "ftypheic";
  for (const std::string& text : {folder_.string(), (folder_ / "*").string()}) {
    const auto source = open_source(text);
    std::vector<std::string> failed;
    for (Frame frame; source->next(frame);) {
      source->decode(frame, {});
      if (!frame.failure.empty()) failed.push_back(fs::path(frame.file).filename().string());
    }
    EXPECT_EQ(failed, (Names{"a.HEIC", "c.avif"})) << text;
    EXPECT_EQ(source->names()[1], "a") << "of a.png, which is read";
  }
}

TEST_F(Sources, WhatMeansNothingIsRefusedWithARemedy) {
  const auto expect = [](const std::string& text, const std::string& word) {
    EXPECT_NE(refusal(text).find(word), std::string::npos) << refusal(text);
  };
  expect((folder_ / "none.jpg").string(), "no such file");
  expect(folder_.string(), "has no images");
  expect((folder_ / "*.jpg").string(), "no file fits");
  expect("97", "no camera 97");
  std::ofstream(folder_ / "empty.txt") << "\n";
  expect((folder_ / "empty.txt").string(), "list is empty");
  std::ofstream(folder_ / "data.bin") << "x";
  expect((folder_ / "d*.bin").string(), "none of the files that fit");
  for (const char* address : {"file://user:secret@host/none.mp4", "file://user:p@secret@host/none.mp4",
                              "file://user:p/secret@host/none.mp4"}) {
    const std::string message = refusal(address);
    EXPECT_NE(message.find("cannot be opened"), std::string::npos) << message;
    EXPECT_EQ(message.find("secret"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace brightnet
