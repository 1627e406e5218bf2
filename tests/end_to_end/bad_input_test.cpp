// Broken files of the three kinds that come from elsewhere, through the program: what it refuses is exit code
// 2 with a message that names the file. (That a hundred thousand of each neither crash nor hang the parsers
// is tested beside them: darknet_fuzz_test, weights_mutation_test, onnx_metadata_test.)
#include "formats/darknet/import.h"
#include "formats/darknet/weights.h"
#include "formats/onnx/model.h"
#include "tests/end_to_end/program.h"
#include "tests/formats/small_cfg.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class BadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              (std::string("bad_input_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write("good.cfg", small_cfg);
    const Model model = import_darknet_text(small_cfg, "good.cfg").model;
    const ParameterLayout layout(model);
    save_darknet_weights(folder_ / "good.weights", model, layout, initial_parameters(model, layout, 1));
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& bytes) const {
    write_atomically(folder_ / name, bytes);
  }
  std::string good(const std::string& name) const { return read_file(folder_ / name); }

  /// Whether the program refuses; anything but that or success fails the test.
  bool refuses(const std::vector<std::string>& arguments, const std::string& named) const {
    const ProgramResult result = run_program(arguments, folder_);
    if (result.code == 0) return false;
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(named), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("internal error"), std::string::npos) << result.err;
    EXPECT_GT(result.err.size(), named.size() + 20) << "no explanation: " << result.err;
    return true;
  }

  fs::path folder_;
};

TEST_F(BadInput, ABrokenConfigurationIsExitCodeTwo) {
  ASSERT_FALSE(refuses({"import", "--cfg", "good.cfg", "--out", "x.yaml", "--force"}, ""));
  int tried = 0;
  for (size_t at = 20; at < small_cfg.size(); at += small_cfg.size() / 12) {
    std::string broken = small_cfg;
    // By turns a digit that grows, the rest of a line that is lost, and a file that ends. None of these
    // places is one where that would leave a sound configuration.
    switch (tried++ % 3) {
      case 0:
        broken.replace(broken.find_first_of("0123456789", at % (broken.size() - 200)), 1, "77777777777");
        break;
      case 1: broken.erase(at, broken.find('\n', at) - at); break;
      default: broken.resize(at);
    }
    write("broken.cfg", broken);
    EXPECT_TRUE(refuses({"import", "--cfg", "broken.cfg", "--out", "x.yaml", "--force"}, "broken.cfg"))
        << "broken at byte " << at << ": " << small_cfg.substr(at, 20);
  }
  EXPECT_GE(tried, 12);
}

TEST_F(BadInput, BrokenWeightsAreExitCodeTwo) {
  const std::string whole = good("good.weights");
  const float nothing = -1.0f;  // where the first layer's variances are
  std::string negative = whole;
  negative.replace(20 + 3 * 8 * sizeof(float), sizeof nothing, reinterpret_cast<const char*>(&nothing),
                   sizeof nothing);
  std::vector<std::string> all{"",
                               whole.substr(0, 3),
                               whole.substr(0, 19),
                               whole.substr(0, 300),
                               whole + "more",
                               whole + whole,
                               negative,
                               "\xff\xff\xff\x7f" + whole.substr(4)};
  for (const std::string& bytes : all) {
    write("broken.weights", bytes);
    EXPECT_TRUE(refuses({"import", "--cfg", "good.cfg", "--weights", "broken.weights", "--out", "x.yaml"},
                        "broken.weights"))
        << bytes.size() << " bytes";
  }
  write("broken.weights", negative);
  EXPECT_TRUE(refuses({"export", "--weights", "broken.weights", "--cfg", "good.cfg", "--format", "onnx"},
                      "broken.weights"));
}

TEST_F(BadInput, BrokenOnnxIsExitCodeTwo) {
  ASSERT_FALSE(refuses({"export", "--weights", "good.weights", "--cfg", "good.cfg", "--format", "onnx"}, ""));
  const std::string whole = good("good.onnx");
  const size_t metadata = whole.find("format_version");
  ASSERT_NE(metadata, std::string::npos);
  const auto refuses_to_describe = [&](const std::string& bytes) {
    write("broken.onnx", bytes);
    return refuses({"export", "--describe", "broken.onnx"}, "broken.onnx");
  };
  const auto changed = [&](size_t at) {
    std::string bytes = whole;
    return bytes.replace(at, 2, "\xff\xff");
  };
  ASSERT_FALSE(refuses_to_describe(whole));
  // The lengths at the beginning, a name or a number of the metadata, and their end.
  for (const size_t at :
       {size_t{0}, size_t{1}, metadata - 3, metadata, metadata + 20, metadata + 150, whole.size() - 2}) {
    EXPECT_TRUE(refuses_to_describe(whole.substr(0, at))) << "cut at byte " << at;
    EXPECT_TRUE(refuses_to_describe(changed(at))) << "changed at byte " << at;
  }
  // A description shows neither the graph's names nor its weights, but they must be there to the end.
  for (const size_t at : {size_t{40}, whole.size() / 2}) {
    EXPECT_TRUE(refuses_to_describe(whole.substr(0, at))) << "cut at byte " << at;
    EXPECT_FALSE(refuses_to_describe(changed(at))) << "changed at byte " << at;
  }
}

TEST_F(BadInput, DarknetsWeightsNeedTheirConfiguration) {
  const auto export_with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"export", "--format", "onnx", "--out", "x.onnx", "--weights"});
    return more;
  };
  EXPECT_TRUE(refuses(export_with({"good.weights"}), "--cfg"));
  EXPECT_TRUE(refuses(export_with({"none.weights", "--cfg", "good.cfg"}), "none.weights"));
  EXPECT_TRUE(refuses(export_with({"good.weights", "--cfg", "none.cfg"}), "none.cfg"));
  write("two.names", "one\ntwo\n");
  write("four.names", "one\ntwo\nthree\nfour\n");
  EXPECT_TRUE(
      refuses(export_with({"good.weights", "--cfg", "good.cfg", "--names", "four.names"}), "four.names"));
  EXPECT_FALSE(refuses(export_with({"good.weights", "--cfg", "good.cfg", "--names", "two.names"}), ""));
  // The first layer alone, as a .conv.1 would be.
  write("first.weights", good("good.weights").substr(0, 20 + sizeof(float) * (4 * 8 + 8 * 27)));
  EXPECT_TRUE(refuses(export_with({"first.weights", "--cfg", "good.cfg"}), "first.weights"));
  EXPECT_TRUE(refuses(
      {"export", "--weights", "good.weights", "--cfg", "good.cfg", "--format", "onnx", "--numbers", "kept"},
      "--numbers"));
}

}  // namespace
}  // namespace brightnet::testing
