#include "formats/download/fetch.h"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "brightnet/download.h"
#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "tests/formats/download/http_server.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// A darknet file: version 0.2.5, a count of images, numbers.
std::string weights_bytes(size_t numbers, float first = 0.5f) {
  std::string bytes(20, '\0');
  const int32_t version[] = {0, 2, 5};
  std::memcpy(bytes.data(), version, sizeof version);
  for (size_t i = 0; i < numbers; ++i) {
    const float number = i == 0 ? first : 0.25f * static_cast<float>(i % 7);
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return bytes;
}

std::string sha256(const std::string& bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.hex();
}

/// A value of the environment for the time of a test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value.empty() ? ::unsetenv(name) : ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class Fetch : public ::testing::Test {
 protected:
  Fetch() {
    fs::remove_all(cache_);
    weights_ = {.file = "net.weights",
                .address = server_.address("/release/net.weights"),
                .contents = "",
                .bytes = body_.size(),
                .sha256 = sha256(body_),
                .cfg = "",
                .names = "",
                .anchors = {}};
    server_.serve("/release/net.weights", {.body = body_});
  }
  ~Fetch() override { fs::remove_all(cache_); }

  std::string error() {
    try {
      fetch_weights(weights_, options_);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
  fs::path kept() const { return cache_ / "brightnet" / "weights" / "net.weights"; }
  fs::path part() const { return kept().string() + ".part"; }
  void leave(const std::string& bytes) const {
    fs::create_directories(part().parent_path());
    write_atomically(part(), bytes);
  }

  const fs::path cache_ = fs::path(::testing::TempDir()) / "fetch_cache" /
                          ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const Environment cache_home_{"XDG_CACHE_HOME", cache_.string()};
  const Environment no_mirror_{"BRIGHTNET_MIRROR", ""};
  const std::string body_ = weights_bytes(50000);
  HttpServer server_;
  PublishedWeights weights_;
  FetchOptions options_{.mirror = "", .first_wait = 0.01};
};

TEST_F(Fetch, KeepsTheFileAndAsksNobodyASecondTime) {
  EXPECT_EQ(fetch_weights(weights_, options_), kept());
  EXPECT_EQ(read_file(kept()), body_);
  EXPECT_FALSE(fs::exists(part()));
  EXPECT_EQ(fetch_weights(weights_, options_), kept());
  EXPECT_EQ(server_.requests().size(), 1u);
}

TEST_F(Fetch, ContinuesThePartOfAnEarlierProcess) {
  leave(body_.substr(0, 100000));
  EXPECT_EQ(error(), "");
  EXPECT_EQ(server_.requests(), std::vector<std::string>{"/release/net.weights 100000-"});
  EXPECT_EQ(read_file(kept()), body_);
}

TEST_F(Fetch, BeginsAnewWhenThePartIsOfAnotherFile) {
  leave(std::string(100000, 'x'));
  EXPECT_EQ(error(), "");
  EXPECT_EQ(read_file(kept()), body_);
  fs::remove(kept());
  leave(std::string(body_.size(), 'x'));  // whole, and wrong
  EXPECT_EQ(error(), "");
  EXPECT_EQ(read_file(kept()), body_);
  fs::remove(kept());
  leave(std::string(2 * body_.size(), 'x'));
  EXPECT_EQ(error(), "");
  EXPECT_EQ(read_file(kept()), body_);
}

TEST_F(Fetch, RefusesAnotherHashAndKeepsNothing) {
  weights_.sha256 = sha256("another file");
  const std::string said = error();
  EXPECT_NE(said.find("its SHA-256 is " + sha256(body_) + ", and " + weights_.sha256 + " was expected"),
            std::string::npos)
      << said;
  EXPECT_FALSE(fs::exists(kept()));
  EXPECT_FALSE(fs::exists(part()));
}

TEST_F(Fetch, ExaminesTheFileWhereNoHashIsKnown) {
  weights_.sha256.clear();
  EXPECT_EQ(error(), "");
  const auto refused = [&](const std::string& body, const std::string& words) {
    fs::remove(kept());
    weights_.bytes = 0;
    server_.serve("/release/net.weights", {.body = body});
    const std::string said = error();
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_FALSE(fs::exists(kept()));
  };
  refused("<!DOCTYPE html><html>Sign in to this network</html>", "does not begin with a version");
  refused(body_.substr(0, 1234) + "x", "ends within a number");
  refused(weights_bytes(10, std::numeric_limits<float>::quiet_NaN()), "its number 0 is not finite");
  refused(body_.substr(0, 20), "no data after the header");
}

TEST_F(Fetch, ChecksAKeptFileAgainAtEveryUse) {
  for (const bool published : {true, false}) {
    if (!published) weights_.sha256.clear();
    fs::remove_all(cache_);
    ASSERT_EQ(error(), "");
    EXPECT_EQ(read_file(kept().string() + ".sha256"), sha256(body_) + "  net.weights\n");
    ASSERT_EQ(error(), "");
    std::string other = body_;
    other.back() ^= 1;
    write_atomically(kept(), other);
    const std::string said = error();
    EXPECT_NE(said.find("its SHA-256 is " + sha256(other) + ", and " + sha256(body_)), std::string::npos)
        << said;
    EXPECT_EQ(read_file(kept()), other) << "nothing is overwritten";
  }
  fs::remove(kept().string() + ".sha256");  // as an earlier version kept it
  EXPECT_EQ(error(), "");
  EXPECT_TRUE(fs::exists(kept().string() + ".sha256"));
}

TEST_F(Fetch, DoesNotContinueAPartThatNoHashCanTellFromTheFile) {
  weights_.sha256.clear();
  leave(weights_bytes(20000, 7));  // of another mirror's file: as good a beginning
  EXPECT_EQ(error(), "");
  EXPECT_EQ(read_file(kept()), body_);
  fs::remove(kept());
  leave(weights_bytes(20000, 7));
  write_atomically(part().string() + ".from", server_.address("/mirror/net.weights"));
  EXPECT_EQ(error(), "");
  EXPECT_TRUE(read_file(kept()) == body_) << "the part was of another address";
}

TEST_F(Fetch, GivesUpATextThatIsLargerThanAnyOfItsKind) {
  weights_.cfg = server_.address("/release/net.cfg");
  server_.serve("/release/net.cfg", {.body = std::string((1 << 20) + 1, '#')});
  try {
    fetch_network(weights_, options_);
    FAIL() << "it was taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("larger than 1.0 MiB"), std::string::npos) << e.what();
  }
  EXPECT_FALSE(fs::exists(kept().parent_path() / "net.cfg"));
}

TEST_F(Fetch, TakesTheMirrorOfTheOptionOrTheEnvironment) {
  server_.serve("/mirror/net.weights", {.body = body_});
  options_.mirror = server_.address("/mirror/");
  EXPECT_EQ(error(), "");
  EXPECT_EQ(server_.requests(), std::vector<std::string>{"/mirror/net.weights"});
  fs::remove(kept());
  options_.mirror.clear();
  const Environment mirror("BRIGHTNET_MIRROR", server_.address("/mirror"));
  EXPECT_EQ(error(), "");
  EXPECT_EQ(server_.requests().size(), 2u);
  fs::remove(kept());
  options_.mirror = "/mnt/files";
  const std::string said = error();
  EXPECT_NE(said.find("must begin with http:// or https://"), std::string::npos) << said;
}

TEST_F(Fetch, WaitsForAnotherThatFetchesTheSame) {
  server_.serve("/release/net.weights", {.body = body_, .pause_ms = 100});
  std::thread first([&] { EXPECT_EQ(error(), ""); });
  std::thread second([&] { EXPECT_EQ(error(), ""); });
  first.join();
  second.join();
  EXPECT_EQ(server_.requests().size(), 1u);
  EXPECT_EQ(read_file(kept()), body_);
  EXPECT_FALSE(fs::exists(part()));
}

TEST_F(Fetch, BringsTheNetworkAndTheNamesToo) {
  weights_.cfg = server_.address("/cfg/net.cfg");
  weights_.names = server_.address("/data/coco.names");
  server_.serve("/cfg/net.cfg", {.body = "[net]\nwidth=32\nheight=32\n[convolutional]\nfilters=3\n"});
  server_.serve("/data/coco.names", {.body = "person\nbicycle\n"});
  const FetchedNetwork network = fetch_network(weights_, options_);
  EXPECT_EQ(network.cfg.filename(), "net.cfg");
  EXPECT_EQ(read_file(network.names), "person\nbicycle\n");
  fs::remove(network.names);
  server_.serve("/data/coco.names", {.body = "<html>"});
  EXPECT_THROW(fetch_network(weights_, options_), InputError);
}

TEST_F(Fetch, LeavesPathsAsTheyAre) {
  EXPECT_EQ(fetch_if_named("runs/a/best.safetensors", options_), "runs/a/best.safetensors");
  EXPECT_EQ(fetch_if_named("", options_), "");
  EXPECT_EQ(fetch_if_named("nothing.of.this.name", options_), "nothing.of.this.name");
  EXPECT_TRUE(server_.requests().empty());
}

// A run's config.yaml names the place where published weights are kept.
TEST_F(Fetch, AKeptPlaceIsCheckedAndFilledAsItsNameIs) {
  const std::string place = (weights_folder() / "yolov4-tiny.weights").string();
  server_.serve("/mirror/yolov4-tiny.weights", {.body = "too short"});
  options_.mirror = server_.address("/mirror");
  const auto said = [&] {
    try {
      return "taken: " + fetch_if_named(place, options_);
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  std::string refused = said();
  EXPECT_NE(refused.find("the file has 24251276"), std::string::npos) << refused;
  EXPECT_EQ(server_.requests(), std::vector<std::string>{"/mirror/yolov4-tiny.weights"});
  fs::create_directories(weights_folder());
  write_atomically(place, std::string("something else"));
  refused = said();
  EXPECT_NE(refused.find("this file is not what was fetched"), std::string::npos) << refused;
}

TEST_F(Fetch, TheListSaysWhichFilesAreThere) {
  fs::create_directories(weights_folder());
  write_atomically(weights_folder() / "yolov4-tiny.conv.29", std::string("there"));
  std::istringstream list(list_published_weights());
  int lines = 0;
  for (std::string line; std::getline(list, line); ++lines)
    EXPECT_EQ(line.ends_with("; fetched"), line.starts_with("yolov4-tiny.conv.29 ")) << line;
  EXPECT_GT(lines, 4);
}

TEST(PublishedWeights, AreFoundByTheirNetworkOrTheirFile) {
  for (const std::string& network : published_networks()) {
    for (const PublishedWeights& weights : published_weights(network)) {
      EXPECT_TRUE(weights.address.starts_with("https://") && weights.address.ends_with('/' + weights.file))
          << weights.address;
      EXPECT_GT(weights.bytes, 10u << 20);
      EXPECT_TRUE(weights.sha256.empty() || weights.sha256.size() == 64) << weights.file;
      EXPECT_EQ(find_published_weights(weights.file)->address, weights.address);
    }
    EXPECT_EQ(find_published_weights(network)->file, network + ".weights");
  }
  EXPECT_EQ(find_published_weights("yolov4-tiny.conv.29")->bytes, 19789716u);
  EXPECT_FALSE(find_published_weights("yolov5"));
}

TEST(PublishedWeights, AreRecognizedByTheirLengthAndTheirNameWhereNoHashIsKnown) {
  const fs::path folder = fs::path(::testing::TempDir()) / "recognized_weights";
  fs::create_directories(folder);
  const auto recognized = [&](const char* name, uint64_t bytes) {
    const fs::path file = folder / name;
    std::ofstream(file).close();
    fs::resize_file(file, bytes);
    return recognize_published_weights(file);
  };
  const auto known = recognized("yolov4-tiny.conv.29", 19789716);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->file, "yolov4-tiny.conv.29");
  EXPECT_FALSE(recognized("other.conv.29", 19789716));
  EXPECT_FALSE(recognized("yolov4-tiny.conv.29", 19789717));
  EXPECT_FALSE(recognize_published_weights(folder / "none"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace brightnet::testing
