#include "data/commands/shard.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/files.h"
#include "data/commands/convert.h"
#include "data/formats/places.h"
#include "data/formats/recognize.h"
#include "data/image/stored_file.h"
#include "tests/data/dataset_files.h"
#include "tests/data/images_without_endings.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

Dataset written_shards(const DatasetFolder& data) {
  for (int i = 0; i < 12; ++i) {
    data.image(fmt::format("images/train/{}/same.{}.jpg", i % 3, i), 60 + i, 50);
    data.text(fmt::format("labels/train/{}/same.{}.txt", i % 3, i),
              fmt::format("{} 0.5 0.5 0.25 0.{}\n", i % 2, 20 + i));
  }
  data.image("images/train/0/twice.png", 40, 30);
  data.image("images/train/1/twice.png", 41, 30);
  return read_dataset(data.options("yolo", "images/train", {"cat", "dog"}), Split::train, true);
}

/// The images by their widths, which are all different.
std::map<int, const ImageRecord*> by_width(const Dataset& dataset) {
  std::map<int, const ImageRecord*> images;
  for (const ImageRecord& image : dataset.images) images[image.width] = &image;
  EXPECT_EQ(images.size(), dataset.images.size());
  return images;
}

TEST(Shard, ArchivesReadBackAsTheSameDataSet) {
  const DatasetFolder data;
  const Dataset dataset = written_shards(data);
  const fs::path out = data.root() / "shards";
  const int archives = shard_split(dataset, Split::train, out, 5000);
  EXPECT_GT(archives, 2);
  write_names_of_shards(dataset.classes, {Split::train}, out);
  EXPECT_EQ(
      std::system(fmt::format("tar -tf '{}/train/000000.tar' | grep -q '[.]txt$'", out.string()).c_str()), 0)
      << "tar reads it";
  const Dataset read = read_dataset(recognize_data(out.string()).options, Split::train);
  EXPECT_EQ(read.classes, dataset.classes);
  const auto expected = by_width(dataset);
  for (const auto& [width, image] : by_width(read)) {
    const ImageRecord& own = *expected.at(width);
    EXPECT_EQ(read_stored(image->file, 0, whole_file), read_stored(own.file, 0, whole_file));
    ASSERT_EQ(image->annotations.size(), own.annotations.size());
    for (size_t i = 0; i < own.annotations.size(); ++i) {
      const Annotation& box = own.annotations[i];
      expect_box(image->annotations[i], box.class_id, box.x1, box.y1, box.x2, box.y2);
    }
  }
  std::vector<std::string> order, names;
  for (const ImageRecord& image : read.images) order.push_back(std::to_string(image.width));
  for (const ImageRecord& image : dataset.images) names.push_back(std::to_string(image.width));
  EXPECT_NE(order, names) << "training images are shuffled";
}

TEST(Shard, TheFolderMayBeMovedAsAWhole) {
  const DatasetFolder data;
  const Dataset dataset = written_shards(data);
  shard_split(dataset, Split::train, data.root() / "shards", 5000);
  write_names_of_shards(dataset.classes, {Split::train}, data.root() / "shards");
  const ConvertOptions options{WrittenFormat::yolo, data.root() / "files", true};
  make_empty_folder(options.folder);
  convert_split(dataset, Split::train, options);
  write_names(dataset.classes, {Split::train}, options);
  fs::remove_all(data.root() / "images");
  for (const std::string name : {"shards", "files"}) {
    fs::rename(data.root() / name, data.root() / ("moved " + name));
    for (const char* place : {"", "/data.yaml"}) {
      const Dataset read = read_dataset(
          recognize_data((data.root() / ("moved " + name)).string() + place).options, Split::train);
      EXPECT_EQ(read.images.size(), dataset.images.size()) << name << place;
      EXPECT_EQ(read.classes, dataset.classes);
    }
  }
}

TEST(Shard, TheSameDataSetGivesTheSameBytes) {
  const DatasetFolder data;
  const Dataset dataset = written_shards(data);
  for (const char* out : {"a", "b"}) shard_split(dataset, Split::val, data.root() / out, 8000);
  const std::string same = fmt::format("diff -r '{0}/a' '{0}/b'", data.root().string());
  EXPECT_EQ(std::system(same.c_str()), 0);
  const Dataset read = read_dataset(data.options("yolo", "a/val", {"cat", "dog"}), Split::train);
  ASSERT_EQ(read.images.size(), dataset.images.size());
  for (size_t i = 0; i < read.images.size(); ++i)
    EXPECT_EQ(read.images[i].width, dataset.images[i].width) << "validation images keep their order";
}

TEST(Shard, ImagesWithoutAnImagesEndingGetTheOneByWhichTheyAreFound) {
  const DatasetFolder data;
  const Dataset dataset = read_dataset(write_images_without_endings(data), Split::train);
  ASSERT_EQ(dataset.images.size(), 4u);
  const fs::path out = data.root() / "shards";
  shard_split(dataset, Split::train, out, 1 << 20);
  write_names_of_shards(dataset.classes, {Split::train}, out);
  const Dataset read = read_dataset(recognize_data(out.string()).options, Split::train);
  EXPECT_TRUE(read.problems.empty()) << summarize(read.problems);
  for (const auto& [width, image] : by_width(dataset)) {
    const auto images = by_width(read);
    ASSERT_TRUE(images.contains(width)) << image->file;
    EXPECT_EQ(images.at(width)->annotations.size(), 1u);
  }
}

TEST(Shard, ArchivesOfOthersAreRecognized) {
  const DatasetFolder data;
  data.image("in/0001.jpg");
  data.text("in/0001.txt", "0 0.5 0.5 0.2 0.2\n");
  data.image("in/images/0002.jpg", 50, 50);
  data.text("in/labels/0002.txt", "1 0.5 0.5 0.2 0.2\n");
  data.text("in/stray.txt", "0 0.5 0.5 0.2 0.2\n");
  data.text("set/classes.txt", "cat\ndog\n");
  const auto tar = [&](const std::string& name) {
    fs::create_directories((data.root() / name).parent_path());
    ASSERT_EQ(std::system(fmt::format("tar -C '{0}/in' -cf '{0}/{1}' .", data.root().string(), name).c_str()),
              0);
  };
  tar("set/train-000.tar");
  tar("set/train-001.tar");
  tar("set/valid-000.tar");
  tar("set/test-000.tar");
  const RecognizedData recognized = recognize_data((data.root() / "set").string());
  EXPECT_TRUE(contains(recognized.text(), "a folder of .tar shards with YOLO labels"));
  const Dataset train = read_dataset(recognized.options, Split::train),
                val = read_dataset(recognized.options, Split::val);
  EXPECT_EQ(train.images.size(), 4u);
  EXPECT_EQ(val.images.size(), 2u);
  EXPECT_EQ(read_dataset(recognized.options, Split::test).images.size(), 2u);
  EXPECT_EQ(count(train, DataProblem::Kind::unused_labels), 2) << "the stray ones";
  EXPECT_EQ(train.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(train.images[0].annotations.size() + train.images[1].annotations.size(), 2u);

  tar("one/all.tar");
  data.text("one/classes.txt", "cat\ndog\n");
  for (const char* place : {"one", "one/all.tar"})
    EXPECT_EQ(
        read_dataset(recognize_data((data.root() / place).string()).options, Split::train).images.size(), 2u)
        << place;
}

TEST(Shard, ArchivesOfOneSplitAreNotThoseOfAnother) {
  const auto places = [](const std::vector<std::string>& archives) {
    const DatasetFolder data;
    data.image("in/1.jpg");
    data.text("in/1.txt", "0 0.5 0.5 0.2 0.2\n");
    data.text("set/classes.txt", "cat\n");
    for (const std::string& name : archives) {
      const std::string root = data.root().string();
      EXPECT_EQ(std::system(fmt::format("tar -C '{0}/in' -cf '{0}/set/{1}' .", root, name).c_str()), 0);
    }
    const DataOptions options = recognize_data((data.root() / "set").string()).options;
    const auto in_words = [](const std::string& place) {
      return fmt::format("{}", fmt::join(listed_places(place), " "));
    };
    return in_words(options.train) + " | " + in_words(options.val) + " | " + in_words(options.test);
  };
  EXPECT_EQ(places({"shard-0.tar", "shard-1.tar", "test-0.tar"}), "shard-0.tar shard-1.tar |  | test-0.tar");
  EXPECT_EQ(places({"forest.tar", "valley.tar", "testimony.tar"}), ". |  | ");
  EXPECT_EQ(places({"train-0.tar", "trainval-0.tar", "val-0.tar"}), "train-0.tar | val-0.tar | ");
  EXPECT_EQ(places({"trainval.tar", "test2017.tar"}), "trainval.tar |  | test2017.tar");
}

TEST(Shard, FoldersOfCopiesInArchivesAreNoPartOfThem) {
  const DatasetFolder data;
  data.image("in/images/a.jpg");
  data.text("in/labels/a.txt", "0 0.5 0.5 0.2 0.2\n");
  for (const std::string copies :
       {"@eaDir", ".ipynb_checkpoints", "images/@eaDir/a.jpg", "__MACOSX/images"}) {
    data.image("in/" + copies + "/thumb.jpg");
    data.text("in/" + copies + "/lost.txt", "0 0.5 0.5 0.2 0.2\n");
  }
  data.text("set/classes.txt", "cat\n");
  const std::string root = data.root().string();
  ASSERT_EQ(std::system(fmt::format("tar -C '{0}/in' -cf '{0}/set/all.tar' .", root).c_str()), 0);
  const Dataset read = read_dataset(recognize_data(root + "/set").options, Split::train);
  ASSERT_EQ(read.images.size(), 1u);
  EXPECT_EQ(read.images[0].annotations.size(), 1u);
  EXPECT_EQ(count(read, DataProblem::Kind::unused_labels), 0);
}

TEST(Shard, AnArchiveBesideImagesIsNotReadOnTopOfThem) {
  const DatasetFolder data;
  data.image("set/images/a.jpg");
  data.text("set/labels/a.txt", "0 0.5 0.5 0.2 0.2\n");
  data.text("set/classes.txt", "cat\n");
  const std::string set = (data.root() / "set").string();
  for (const char* place : {"backup.tar", "images/backup.tar"})
    ASSERT_EQ(
        std::system(
            fmt::format("cd '{0}' && tar --exclude='*.tar' -cf '{1}' images labels", set, place).c_str()),
        0);
  EXPECT_EQ(read_dataset(recognize_data(set).options, Split::train).images.size(), 1u);
}

TEST(Shard, NamesAreCutBetweenCharacters) {
  const DatasetFolder data;
  std::string name = "x";
  for (int i = 0; i < 50; ++i) name += "é";  // of two bytes
  data.image("images/" + name + ".jpg");
  data.text("labels/" + name + ".txt", "0 0.5 0.5 0.2 0.2\n");
  shard_split(read_dataset(data.options("yolo", "images", {"cat"}), Split::train), Split::train,
              data.root() / "a", 1);
  const std::string key = fs::path(tar_members(data.root() / "a/train/000000.tar")[0].name).stem().string();
  EXPECT_EQ(key, name.substr(0, key.size()));
  EXPECT_EQ(key.size() % 2, 1u) << "x and whole characters";
}

TEST(Shard, WhatIsInArchivesIsConvertedToFiles) {
  const DatasetFolder data;
  const Dataset dataset = written_shards(data);
  shard_split(dataset, Split::val, data.root() / "a", 1'000'000);
  const Dataset read = read_dataset(data.options("yolo", "a/val", {"cat", "dog"}), Split::train);
  const ConvertOptions options{WrittenFormat::yolo, data.root() / "files", false};
  make_empty_folder(options.folder);
  convert_split(read, Split::train, options);
  const fs::path first = options.folder / "images/train" / read.images[0].file.filename();
  EXPECT_FALSE(fs::is_symlink(first));
  EXPECT_EQ(read_stored(first, 0, whole_file), read_stored(dataset.images[0].file, 0, whole_file));
}

// POSIX's end of an archive; tar warns of a lone one.
TEST(Shard, ArchivesEndWithTwoBlocksOfZeros) {
  const DatasetFolder data;
  const int archives = shard_split(written_shards(data), Split::train, data.root() / "shards", 5000);
  for (int i = 0; i < archives; ++i) {
    const std::string bytes = read_file(data.root() / fmt::format("shards/train/{:06}.tar", i));
    EXPECT_EQ(bytes.size() % 512, 0u);
    EXPECT_TRUE(bytes.ends_with(std::string(1024, '\0'))) << i;
  }
}

// WebDataset takes a member's name up to its first dot for that of the sample, and the rest for what it is.
TEST(Shard, ANameInAnArchiveHasTheDotOfItsExtensionAlone) {
  const DatasetFolder data;
  const int archives = shard_split(written_shards(data), Split::train, data.root() / "shards", 5000);
  size_t members = 0;
  for (int i = 0; i < archives; ++i) {
    for (const TarMember& member : tar_members(data.root() / fmt::format("shards/train/{:06}.tar", i))) {
      EXPECT_EQ(std::count(member.name.begin(), member.name.end(), '.'), 1) << member.name;
      ++members;
    }
  }
  EXPECT_EQ(members, 2u * 14u);
}

}  // namespace
}  // namespace brightnet
