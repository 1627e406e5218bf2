#include "formats/onnx/metadata.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <sys/resource.h>

#include "core/error.h"
#include "core/files.h"
#include "core/random.h"

namespace brightnet::testing {
namespace {

OnnxMetadata some_metadata(OnnxHeads heads) {
  OnnxMetadata metadata;
  metadata.model = "yolov4-tiny";
  metadata.heads = heads;
  metadata.classes = {"red cell", "naïve \"quoted\"", ""};
  metadata.size = 416;
  metadata.letterbox = true;
  metadata.resize = Resize::darknet;
  metadata.fill = 0.5f;
  metadata.head_list = {{"coarse", 32, {{81.25f, 82}, {135, 169}}, 1.05f, false},
                        {"fine", 16, {{10, 14}}, 2, true}};
  metadata.suppression = NmsKind::diou;
  metadata.nms_beta = 0.7f;
  if (heads == OnnxHeads::nms) {
    metadata.score = 0.3f;
    metadata.iou = 0.45f;
    metadata.max_detections = 300;
  }
  return metadata;
}

/// A file with a small graph and the given properties.
std::string file_with(const std::map<std::string, std::string>& properties) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.set_producer_name("brightnet");
  model.add_opset_import()->set_version(13);
  model.mutable_graph()->set_name("graph");
  onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("weight");
  weight.set_raw_data(std::string(64, 'w'));
  for (const auto& [key, value] : properties) {
    auto& property = *model.add_metadata_props();
    property.set_key(key);
    property.set_value(value);
  }
  return model.SerializeAsString();
}

std::string refusal(const std::string& content) {
  try {
    parse_onnx_metadata(content, "some.onnx");
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(OnnxMetadata, ComeBackAsTheyWereWritten) {
  for (const OnnxHeads heads : {OnnxHeads::raw, OnnxHeads::decoded, OnnxHeads::nms}) {
    const OnnxMetadata metadata = some_metadata(heads);
    EXPECT_EQ(parse_onnx_metadata(file_with(to_properties(metadata)), "some.onnx"), metadata);
  }
}

TEST(OnnxMetadata, SayTheTilesThatWereTrainedOn) {
  OnnxMetadata metadata = some_metadata(OnnxHeads::decoded);
  EXPECT_FALSE(to_properties(metadata).contains("tiles")) << "older programs' files have no such entry";
  metadata.tiles = "96,0.2";
  auto properties = to_properties(metadata);
  EXPECT_EQ(properties.at("tiles"), "96,0.2");
  EXPECT_EQ(parse_onnx_metadata(file_with(properties), "some.onnx"), metadata);
  properties["tiles"] = "96 && ls";
  EXPECT_NE(refusal(file_with(properties)).find("'tiles'"), std::string::npos);
}

TEST(OnnxMetadata, AreReadFromAFileWithoutItsGraph) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "onnx_metadata_read.onnx";
  const OnnxMetadata metadata = some_metadata(OnnxHeads::decoded);
  write_atomically(file, file_with(to_properties(metadata)));
  EXPECT_EQ(read_onnx_metadata(file), metadata);
  EXPECT_THROW(read_onnx_metadata(file.string() + ".missing"), InputError);
  EXPECT_THROW(read_onnx_metadata(::testing::TempDir()), InputError);
  try {
    read_onnx_metadata("/dev/zero");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("this is a pipe or a device"), std::string::npos) << e.what();
  }
}

TEST(OnnxMetadata, OfACutFileAreRefusedAtEveryLength) {
  const std::string whole = file_with(to_properties(some_metadata(OnnxHeads::nms)));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
}

TEST(OnnxMetadata, ThatClaimMoreThanTheFileHoldsAreRefused) {
  // Field 14 (metadata_props) of 2 GiB less a byte, and a graph of as much.
  EXPECT_NE(refusal("\x72\xff\xff\xff\xff\x07").find("longer than the file"), std::string::npos);
  EXPECT_NE(refusal("\x3a\xff\xff\xff\xff\x07").find("not a whole ONNX file"), std::string::npos);
  auto properties = to_properties(some_metadata(OnnxHeads::raw));
  properties["comment"] = std::string(size_t{5} << 20, 'x');
  EXPECT_NE(refusal(file_with(properties)).find("4 MiB"), std::string::npos);
}

TEST(OnnxMetadata, OfOtherProgramsAreRefusedSayingWhatIsMissing) {
  EXPECT_NE(refusal(file_with({{"stride", "32"}})).find("not exported by brightnet"), std::string::npos);
  EXPECT_NE(refusal("this is no ONNX").find("some.onnx"), std::string::npos);
  const auto properties = to_properties(some_metadata(OnnxHeads::nms));
  const auto refusal_with = [&](const std::string& key, const std::string& value) {
    auto changed = properties;
    changed[key] = value;
    return refusal(file_with(changed));
  };
  EXPECT_NE(refusal_with("format_version", "2").find("newer brightnet"), std::string::npos);
  EXPECT_NE(refusal_with("outputs", "boxes").find("neither raw"), std::string::npos);
  EXPECT_NE(refusal_with("classes", "[]").find("'classes'"), std::string::npos);
  EXPECT_NE(refusal_with("classes", "[1]").find("'classes'"), std::string::npos);
  EXPECT_NE(refusal_with("input", "{").find("not JSON"), std::string::npos);
  EXPECT_NE(refusal_with("input", std::string(1'000'000, '[')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(refusal_with("input", R"({"size": 1e300})").find("'size'"), std::string::npos);
  EXPECT_NE(refusal_with("input", R"({"size": 18446744073709551615})").find("'size'"), std::string::npos);
  EXPECT_NE(refusal_with("heads", R"([{"output": "a", "stride": 0}])").find("'stride'"), std::string::npos);
  EXPECT_NE(refusal_with("nms", R"({"score": 2})").find("'score'"), std::string::npos);
}

/// Changes a text as damage and malice do: bytes, cuts, repetitions, and the largest of lengths.
std::string mutated(std::string text, Random& random) {
  const uint32_t changes = 1 + random.below(4);
  for (uint32_t i = 0; i < changes && !text.empty(); ++i) {
    const auto size = static_cast<uint32_t>(text.size());
    const uint32_t at = random.below(size), length = 1 + random.below(std::min<uint32_t>(16, size - at));
    switch (random.below(7)) {
      case 0: text[at] = static_cast<char>(random.below(256)); break;
      case 1: text[at] = static_cast<char>(text[at] ^ (1 << random.below(8))); break;
      case 2: text.resize(at); break;
      case 3: text.erase(at, length); break;
      case 4: text.insert(at, text.substr(random.below(size), length)); break;
      case 5: text.replace(at, std::min<uint32_t>(5, size - at), "\xff\xff\xff\xff\x0f"); break;
      default: text.insert(at, std::string(length, "[{\"0-e"[random.below(6)])); break;
    }
  }
  return text;
}

void read_mutated_metadata(int mutations) {
  const auto properties = to_properties(some_metadata(OnnxHeads::nms));
  const std::string whole = file_with(properties);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  int read = 0, refused = 0;
  for (int i = 0; i < mutations; ++i) {
    Random random(1, Purpose::test, 0, static_cast<uint64_t>(i));
    std::string content;
    if (random.chance(0.5f)) {
      content = mutated(whole, random);
    } else {  // whole protobuf around damaged values, to get further in
      auto changed = properties;
      auto victim = changed.begin();
      std::advance(victim, random.below(changed.size()));
      victim->second = mutated(victim->second, random);
      content = file_with(changed);
    }
    try {
      parse_onnx_metadata(content, "mutant.onnx");
      ++read;
    } catch (const InputError&) {
      ++refused;
    }  // whatever else is thrown fails the test
  }
  getrusage(RUSAGE_SELF, &after);
  EXPECT_GT(read, mutations / 100) << "mutations so strong that nothing gets past the first check";
  EXPECT_GT(refused, mutations / 2);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "KiB beyond what so many files of 1 KiB need";
#endif
}

TEST(OnnxMetadata, SurviveTwentyThousandMutations) {
  read_mutated_metadata(20'000);
}

TEST(SlowOnnxMetadata, SurviveAHundredThousandMutations) {
  read_mutated_metadata(100'000);
}

}  // namespace
}  // namespace brightnet::testing
