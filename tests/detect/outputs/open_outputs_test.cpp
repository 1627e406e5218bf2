#include "detect/outputs/open_outputs.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

TEST(OpenOutputs, WhatAnnotationsDoNotNameIsRefusedBeforeTheWorkBegins) {
  const fs::path folder = fs::path(::testing::TempDir()) / "open_outputs";
  fs::remove_all(folder);
  const std::string ids = (folder / "instances.json").string(), answer = (folder / "c.json").string();
  const fs::path images = folder / "images";
  fs::create_directories(images);
  write_atomically(ids, R"({"images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "clip.mp4"},
               {"id": 3, "file_name": "still.gif"}],
    "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat/kitten"}]})");
  const auto open = [&] {  // names the files, reads none
    DetectionOptions options;
    options.source = images.string();
    options.coco_json = answer;
    options.coco_ids = ids;
    open_outputs(options, *open_source(options.source), {"dog", "cat/kitten"});
  };
  write_atomically(images / "a.jpg", std::string("1"));
  EXPECT_NO_THROW(open());
  constexpr const char* video = "read as a video";  // its frames have no ids, though it has one
  for (const auto& [foreign, reason] :
       {std::pair("b.jpg", "not among those of"), {"clip.mp4", video}, {"still.gif", video}}) {
    write_atomically(images / foreign, std::string("2"));
    try {
      open();
      ADD_FAILURE() << foreign << " was taken";
    } catch (const InputError& e) {
      const std::string said = e.what();
      EXPECT_NE(said.find(foreign), std::string::npos) << said;
      EXPECT_NE(said.find(reason), std::string::npos) << said;
    }
    EXPECT_FALSE(fs::exists(answer));
    fs::remove(images / foreign);
  }
  fs::remove_all(folder);
}

// The labels of the second folder's images need not be there yet.
TEST(OpenOutputs, TheFoldersOfAllImagesAreProtected) {
  const fs::path folder = fs::path(::testing::TempDir()) / "open_outputs_of_folders";
  fs::remove_all(folder);
  for (const char* of : {"a", "b"}) {
    fs::create_directories(folder / of / "images");
    write_atomically(folder / of / "images/1.jpg", std::string(of));
  }
  const auto refusal = [&](const fs::path& txt, const fs::path& out) -> std::string {
    DetectionOptions options;
    options.source = (folder / "*/images/*.jpg").string();
    options.txt = txt;
    options.out = out;
    options.no_save = out.empty();
    try {
      open_outputs(options, *open_source(options.source), {"dog"});
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  };
  for (const char* of : {"a", "b"}) {
    const std::string labels = refusal(folder / of / "labels", ""),
                      pictures = refusal("", folder / of / "images");
    EXPECT_NE(labels.find("mistaken for them"), std::string::npos) << of << ": " << labels;
    EXPECT_NE(pictures.find("would be overwritten"), std::string::npos) << of << ": " << pictures;
    EXPECT_FALSE(fs::exists(folder / of / "labels"));
  }
  EXPECT_EQ(refusal(folder / "found", folder / "pictures"), "accepted");
  fs::remove_all(folder);
}

TEST(OpenOutputs, AVideoOfSomebodyElseIsRefusedBeforeTheWorkBegins) {
  const fs::path folder = fs::path(::testing::TempDir()) / "open_outputs_video";
  fs::remove_all(folder);
  for (const char* place : {"source", "found"}) fs::create_directories(folder / place);
  for (const char* file : {"source/a.jpg", "source/clip.mov", "found/clip.mp4"})
    write_atomically(folder / file, std::string("mine"));
  const auto open = [&] {  // names the files, reads none
    DetectionOptions options;
    options.source = (folder / "source").string();
    options.out = folder / "found";
    open_outputs(options, *open_source(options.source), {"dog"});
  };
  try {
    open();
    ADD_FAILURE() << "it would be replaced, or the work end in the middle";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("found/clip.mp4"), std::string::npos) << e.what();
  }
  fs::rename(folder / "found/clip.mp4", folder / "found/clip.jpg");  // no video is called so
  EXPECT_NO_THROW(open());
  fs::remove_all(folder);
}

TEST(OpenOutputs, CropsReplaceNoInput) {
  const fs::path folder = fs::path(::testing::TempDir()) / "open_outputs_crops";
  fs::remove_all(folder);
  fs::create_directories(folder / "found/crops/dog");
  fs::create_directory_symlink("found/crops/dog", folder / "linked");
  write_atomically(folder / "found/crops/dog/x_1.jpg", std::string("1"));
  write_atomically(folder / "list.txt", std::string("linked/x_1.jpg\n"));
  const auto open = [&](const char* source, const char* out, bool crops) {
    DetectionOptions options;
    options.source = (folder / source).string();
    options.out = folder / out;
    options.save_crops = crops;
    open_outputs(options, *open_source(options.source), {"dog"});
  };
  for (const char* source : {"found/crops/dog", "found/crops/dog/x_1.jpg", "linked", "list.txt"}) {
    for (const char* out : {"found", "found/crops/..", "linked/../.."}) {
      try {
        open(source, out, true);
        ADD_FAILURE() << source << " was taken with --out " << out;
      } catch (const InputError& e) {
        EXPECT_NE(std::string(e.what()).find("which crops would overwrite. Name another with --out"),
                  std::string::npos)
            << e.what();
      }
      EXPECT_NO_THROW(open(source, out, false)) << source;
    }
    EXPECT_NO_THROW(open(source, "other", true)) << source;
    EXPECT_NO_THROW(open(source, "found/crops/dog/again", true)) << source;
  }
  fs::remove_all(folder);
}

TEST(OpenOutputs, IdsForACameraOrStreamAreRefusedBeforeItIsOpened) {
  for (const char* live : {"0", "rtsp://user:secret@host/a"}) {
    DetectionOptions options;
    options.source = live;
    options.coco_json = "c.json";
    EXPECT_NO_THROW(refuse_idle_outputs(options)) << live;
    options.coco_ids = "instances.json";
    EXPECT_THROW(refuse_idle_outputs(options), InputError) << live;
  }
}

}  // namespace
}  // namespace brightnet
