#include "data/image/stored_file.h"

#include <cstdlib>
#include <span>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "data/image/darknet_image.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

/// An archive of the folder's "in", packed by the system's tar.
fs::path packed(const DatasetFolder& folder, const std::string& how) {
  const fs::path archive = folder.root() / "a.tar";
  fs::remove(archive);
  const std::string command =
      fmt::format("tar -C '{}' {} -cf '{}' in", folder.root().string(), how, archive.string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  return archive;
}

TEST(StoredFile, MembersOfEveryKindOfTarAreReadInPlace) {
  const std::string deep = std::string(90, 'd') + '/' + std::string(90, 'e'),
                    longest = std::string(200, 'f') + "/" + std::string(100, 'g');
  for (const char* how : {"--format=ustar", "--format=gnu", "--format=pax", "--format=v7"}) {
    const DatasetFolder folder;
    std::vector<std::string> names{"in/a.txt", "in/b/empty.txt", "in/b/block.bin"};
    if (std::string(how) != "--format=v7") names.push_back("in/" + deep + "/long.txt");
    const bool any_length = std::string(how) == "--format=gnu" || std::string(how) == "--format=pax";
    if (any_length) names.push_back("in/" + longest + "/é.txt");
    for (const std::string& name : names) folder.text(name, name.ends_with("empty.txt") ? "" : "of " + name);
    folder.text("in/b/block.bin", std::string(512, 'x'));
    const fs::path archive = packed(folder, how);
    EXPECT_EQ(tar_members(archive).size(), names.size()) << how;
    for (const std::string& name : names) {
      const fs::path file = archive / name;
      const std::string expected = read_file(folder.root() / name);
      EXPECT_EQ(archive_of(file), archive);
      EXPECT_TRUE(is_stored(file)) << how << ' ' << name;
      EXPECT_EQ(stored_size(file), expected.size()) << how << ' ' << name;
      EXPECT_EQ(text_of(read_stored(file, 0, whole_file)), expected) << how << ' ' << name;
      if (expected.size() > 5) {
        EXPECT_EQ(text_of(read_stored(file, 3, 2)), expected.substr(3, 2));
        EXPECT_EQ(text_of(read_stored(file, expected.size() - 1, 100)), expected.substr(expected.size() - 1));
      }
      EXPECT_TRUE(read_stored(file, expected.size(), 1).empty());
    }
    EXPECT_FALSE(is_stored(archive / "in/none.txt"));
    EXPECT_EQ(stored_size(archive / "in"), std::nullopt) << "a folder in it";
    EXPECT_TRUE(read_stored(archive / "in/none.txt", 0, 1).empty());
  }
}

TEST(StoredFile, MembersOfAFolderThatWasPackedAsADotAreFoundByTheirNames) {
  const DatasetFolder folder;
  folder.text("in/a.txt", "alone");
  folder.text("in/b/c.txt", "below");
  const fs::path archive = folder.root() / "dot.tar";
  ASSERT_EQ(
      std::system(fmt::format("tar -C '{}/in' -cf '{}' .", folder.root().string(), archive.string()).c_str()),
      0);
  EXPECT_EQ(text_of(read_stored(archive / "a.txt", 0, whole_file)), "alone");
  EXPECT_EQ(text_of(read_stored(archive / "b/c.txt", 0, whole_file)), "below");
  EXPECT_EQ(text_of(read_stored(archive / "./a.txt", 0, whole_file)), "alone");
  EXPECT_TRUE(is_stored(archive / "b/../a.txt"));
  for (const TarMember& member : tar_members(archive))
    EXPECT_FALSE(member.name.starts_with('.')) << member.name;
}

// As what finds equal files leaves them: labels, for example, that many images share.
TEST(StoredFile, HardLinksHaveTheBytesOfTheFileThatWasPackedFirst) {
  const std::string deep = std::string(90, 'd') + '/' + std::string(90, 'e');
  for (const std::string how : {"--format=ustar", "--format=gnu", "--format=pax"}) {
    const DatasetFolder folder;
    std::vector<std::string> names{"in/a.txt", "in/b.txt", "in/c.txt"};
    if (how != "--format=ustar")
      names.push_back("in/" + deep + "/d.txt");  // a link's name has 100 bytes there
    folder.text(names[0], "shared");
    folder.text("in/" + deep + "/own.txt", "own");
    for (const std::string& name : std::span(names).subspan(1))
      fs::create_hard_link(folder.root() / names[0], folder.root() / name);
    const fs::path archive = packed(folder, how);
    EXPECT_EQ(tar_members(archive).size(), names.size() + 1) << how;
    for (const std::string& name : names)
      EXPECT_EQ(text_of(read_stored(archive / name, 0, whole_file)), "shared") << how << ' ' << name;
    EXPECT_EQ(text_of(read_stored(archive / "in" / deep / "own.txt", 0, whole_file)), "own") << how;
  }
}

TEST(StoredFile, AnImageInAnArchiveIsReadAsOutsideOfIt) {
  const DatasetFolder folder;
  folder.image("in/a.jpg", 40, 30);
  folder.image("in/b.png", 40, 30);
  const fs::path archive = packed(folder, "--format=ustar");
  for (const std::string name : {"in/a.jpg", "in/b.png"}) {
    const fs::path loose = folder.root() / name, stored = archive / name;
    const auto same = [](const cv::Mat& a, const cv::Mat& b) {
      return a.size() == b.size() && cv::norm(a, b, cv::NORM_INF) == 0;
    };
    EXPECT_TRUE(same(read_image(stored), read_image(loose))) << name;
    EXPECT_TRUE(same(read_darknet_image(stored), read_darknet_image(loose))) << name;
  }
}

TEST(StoredFile, AFolderMayBeCalledLikeAnArchive) {
  const DatasetFolder folder;
  folder.text("x.tar/a.txt", "plain");
  const fs::path file = folder.root() / "x.tar/a.txt";
  EXPECT_EQ(archive_of(file), fs::path());
  EXPECT_EQ(text_of(read_stored(file, 1, 3)), "lai");
  EXPECT_EQ(stored_size(folder.root() / "x.tar"), std::nullopt);
}

std::string refusal(const fs::path& archive) {
  try {
    tar_members(archive);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(StoredFile, DamagedArchivesAreRefusedWithTheirPlace) {
  const DatasetFolder folder;
  folder.text("in/a.txt", std::string(2000, 'a'));
  const std::string whole = read_file(packed(folder, "--format=ustar"));
  const auto written = [&](const std::string& name, const std::string& bytes) {
    folder.text(name, bytes);
    return folder.root() / name;
  };
  EXPECT_TRUE(contains(refusal(written("gzip.tar", "\x1f\x8b" + std::string(2000, 'z'))), "no tar archive"));
  EXPECT_TRUE(
      contains(refusal(written("short.tar", whole.substr(0, 1200))), "ends within its member 'in/a.txt'"));
  EXPECT_TRUE(contains(refusal(written("stub.tar", whole.substr(0, 700))), "byte 512"))
      << "the folder is before it";
  std::string damaged = whole;
  damaged[512 + 3] ^= 1;
  EXPECT_TRUE(contains(refusal(written("bit.tar", damaged)), "damaged"));
  std::string huge = whole;  // a size of 2^63, in GNU's form, with its sum
  huge.replace(512 + 124, 12, std::string("\x80\0\0\0\x80\0\0\0\0\0\0\0", 12));
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<uint8_t>(huge[512 + i]);
  huge.replace(512 + 148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  EXPECT_TRUE(contains(refusal(written("huge.tar", huge)), "ends within its member"));
  EXPECT_TRUE(
      refusal(written("open.tar", whole.substr(0, whole.find_last_not_of('\0') / 512 * 512 + 512))).empty())
      << "without the zeros at its end";
}

// An absolute name, appended to the archive's path, would be read from the disk in the archive's stead.
TEST(StoredFile, AMemberOutsideOfItsArchiveIsRefused) {
  const DatasetFolder folder;
  folder.text("in/a.txt", "inside");
  folder.text("..b.txt", "a name that only looks so");
  const fs::path archive = folder.root() / "out.tar";
  const auto pack = [&](const std::string& in, const std::string& what) {
    const std::string command =
        fmt::format("tar -C '{}' -P -cf '{}' '{}'", (folder.root() / in).string(), archive.string(), what);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  };
  const std::string absolute = fs::absolute(folder.root() / "in/a.txt").string();
  pack(".", absolute);
  EXPECT_TRUE(contains(refusal(archive), "'" + absolute + "' leads out of this archive")) << refusal(archive);
  EXPECT_TRUE(contains(refusal(archive), "out.tar, byte "));
  fs::remove(archive);
  pack("in", "../..b.txt");
  EXPECT_TRUE(contains(refusal(archive), "'../..b.txt' leads out")) << refusal(archive);
  fs::remove(archive);
  pack("in", "../in/../..b.txt");
  EXPECT_TRUE(contains(refusal(archive), "leads out")) << refusal(archive);
  fs::remove(archive);
  pack(".", "in/../..b.txt");
  ASSERT_EQ(refusal(archive), "");
  EXPECT_EQ(text_of(read_stored(archive / "..b.txt", 0, whole_file)), "a name that only looks so");
}

TEST(StoredFile, AnArchiveThatWasReplacedIsNotReadByItsOldList) {
  const DatasetFolder folder;
  folder.text("in/a.txt", "first");
  const fs::path archive = packed(folder, "");
  ASSERT_EQ(tar_members(archive).size(), 1u);
  folder.text("in/a.txt", std::string(20'000, 'b'));
  packed(folder, "");
  EXPECT_THROW(read_stored(archive / "in/a.txt", 0, whole_file), InputError);
  EXPECT_EQ(tar_members(archive).size(), 1u);
  EXPECT_EQ(text_of(read_stored(archive / "in/a.txt", 0, 2)), "bb") << "listed again, it is";
}

TEST(StoredFile, MoreArchivesThanDescriptorsAreRead) {
  const DatasetFolder folder;
  folder.text("in/a.txt", "content");
  const std::string bytes = read_file(packed(folder, ""));
  for (int i = 0; i < 200; ++i) folder.text(fmt::format("{}.tar", i), bytes);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 200; ++i)
      EXPECT_EQ(text_of(read_stored(folder.root() / fmt::format("{}.tar/in/a.txt", i), 0, whole_file)),
                "content");
  }
  const auto descriptors = fs::directory_iterator("/proc/self/fd");
  EXPECT_LT(std::distance(begin(descriptors), end(descriptors)), 120);
}

// Whose name is longer than the 100 bytes of a header: another header has it.
TEST(StoredFile, AHardLinkMayBeToALongName) {
  const std::string first = "in/" + std::string(90, 'd') + '/' + std::string(90, 'e') + "/a.txt";
  for (const std::string how : {"--sort=name --format=gnu", "--sort=name --format=pax"}) {
    const DatasetFolder folder;
    folder.text(first, "shared");
    fs::create_hard_link(folder.root() / first, folder.root() / "in/z.txt");
    const fs::path archive = packed(folder, how);
    EXPECT_EQ(tar_members(archive).size(), 2u) << how;
    for (const std::string& name : {first, std::string("in/z.txt")})
      EXPECT_EQ(text_of(read_stored(archive / name, 0, whole_file)), "shared") << how << ' ' << name;
  }
}

}  // namespace
}  // namespace brightnet
