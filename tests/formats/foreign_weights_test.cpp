#include "formats/foreign_weights.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class ForeignWeights : public ::testing::Test {
 protected:
  ForeignWeights() { fs::create_directories(folder_); }
  ~ForeignWeights() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name, const std::string& contents) {
    write_atomically(folder_ / name, contents);
    return folder_ / name;
  }
  static std::string refusal(const fs::path& weights) {
    try {
      refuse_foreign_weights(weights);
      return "";
    } catch (const InputError& e) {
      return e.what();
    }
  }

  fs::path folder_ =
      fs::path(::testing::TempDir()) /
      (std::string("foreign_weights_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ForeignWeights, AreCalledWhatTheyAreByTheirNames) {
  const std::string bytes(64, '\x01');
  for (const auto& [name, words] : {std::pair{"yolov8n.pt", "PyTorch"},
                                    {"BEST.PT", "PyTorch"},
                                    {"net.onnx", "ONNX"},
                                    {"net.engine", "TensorRT engine"},
                                    {"yolov4_resnet18.tlt", "NVIDIA TAO"},
                                    {"model.hdf5", "Keras"},
                                    {"model.tflite", "TensorFlow"},
                                    {"yolov4.cfg", "darknet's description of a network"},
                                    {"yolov4.yaml", "YAML"}}) {
    const std::string refused = refusal(file(name, bytes));
    EXPECT_NE(refused.find(words), std::string::npos) << name << ": " << refused;
    EXPECT_NE(refused.find(name), std::string::npos) << refused;
  }
}

TEST_F(ForeignWeights, AreCalledWhatTheyAreByTheirFirstBytes) {
  EXPECT_NE(refusal(file("weights", "PK\x03\x04 and so on, as torch.save() writes")).find("PyTorch"),
            std::string::npos);
  EXPECT_NE(refusal(file("renamed.safetensors",
                         "\x08\x08\x12\x09"
                         "brightnet and so on"))
                .find("ONNX"),
            std::string::npos);
  EXPECT_NE(refusal(file("weights.bin", "\x89HDF\r\n\x1a\n and so on")).find("Keras"), std::string::npos);
}

TEST_F(ForeignWeights, AreNoFolderWithoutThoseOfARun) {
  EXPECT_NE(refusal(folder_).find("not that of a run with weights"), std::string::npos);
}

TEST_F(ForeignWeights, AreNotThoseOfDarknetOrOurs) {
  using namespace std::string_literals;
  EXPECT_EQ(refusal(file("yolov4.conv.137", "\0\0\0\0\2\0\0\0\5\0\0\0"s.append(32, '\0'))), "");
  EXPECT_EQ(refusal(file("named.pt", "\2\0\0\0\0\0\0\0{}"s)), "") << "safetensors by another name";
  EXPECT_EQ(refusal(folder_ / "missing.pt"), "") << "its reader tells";
}

}  // namespace
}  // namespace brightnet
