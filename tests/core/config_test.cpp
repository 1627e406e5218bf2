#include "core/config.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/files.h"

namespace brightnet {
namespace {

struct Schedule {
  std::string kind = "cosine";
  float warmup = 3;
  std::vector<float> steps{0.8f, 0.9f};
  void fields(Fields& f) {
    f.choice("kind", kind, {"cosine", "steps", "constant"}, "how the rate falls");
    f("warmup", warmup, "epochs of burn-in").at_least(0);
    f("steps", steps, "fractions of the run");
  }
};

struct Training {
  int epochs = 100;
  float rate = 0.01f;
  bool sync = false;
  uint64_t seed = 0;
  std::string model = "models/yolov4-tiny.yaml";
  std::vector<std::string> classes;
  std::vector<int> sizes{416};
  std::vector<std::vector<float>> anchors{{10, 14}, {23, 27}};
  Schedule schedule;
  void fields(Fields& f) {
    f("epochs", epochs, "times through the data").within(1, 1000);
    f("rate", rate, "of learning").above(0);
    f("sync", sync, "over ranks");
    f("seed", seed, "of everything random");
    f("model", model, "file");
    f("classes", classes, "names");
    f("sizes", sizes, "pixels");
    f("anchors", anchors, "pixels");
    f("schedule", schedule, "of the rate");
  }
};

Training read_example(const std::string& text, const std::vector<std::string>& overrides = {}) {
  auto document = YamlDocument::parse(text, "run.yaml");
  for (const auto& assignment : overrides) document.set(assignment);
  Training training;
  read_config(document.root(), training);
  return training;
}

/// The message of the InputError that reading ends in; "" when it does not.
std::string refusal_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    read_example(text, overrides);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

void expect_refused(const std::string& message, const std::vector<std::string>& parts) {
  EXPECT_NE(message, "");
  for (const auto& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
  }
}

TEST(Yaml, AKeyThatIsNoWordIsRefusedWithItsLine) {
  for (const char* text : {"a: 1\nb: {c: 1, [2, 3]: 4}\n", "a: 1\nb: {[2, 3]}\n", "a: 1\n? {c: 2}\n: 3\n",
                           "a: &x 1\n*x : 2\n"}) {
    try {
      YamlDocument::parse(text, "x.yaml");
      FAIL() << "no error for " << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("x.yaml:2"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("a key must be a word"), std::string::npos) << error.what();
    }
  }
  EXPECT_NO_THROW(
      YamlDocument::parse("a: [{b: 1, c: [2, {d: 3}]}, 4]\ne:\nf: &x {g: 5}\nh: *x\n1: ~\n", "x.yaml"));
}

// yaml-cpp makes a value of it that contains itself.
TEST(Yaml, AnAliasInsideOfWhatItNamesIsRefusedWithItsLine) {
  for (const char* text :
       {"a: 1\nb: &b {c: 8, d: *b}\n", "a: &a\n  - {b: *a}\n", "a: &a {b: &c [1],\nd: [[*a]]}\n"}) {
    try {
      YamlDocument::parse(text, "x.yaml");
      FAIL() << "no error for " << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("x.yaml:2"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("an alias stands inside"), std::string::npos) << error.what();
    }
  }
  EXPECT_NO_THROW(YamlDocument::parse("a: &a {b: &c [1, 2], d: *c}\ne: [*a, *c]\n", "x.yaml"));
}

TEST(Yaml, ACommaThatBeginsAValueIsRefusedWithItsLine) {
  for (const auto& [text, where] : {std::pair{",a: 1\n", "x.yaml:1"}, {"# a comment\n\n  ,\n", "x.yaml:3"}}) {
    try {
      YamlDocument::parse(text, "x.yaml");
      FAIL() << "no error for " << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(where), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("no value can begin here"), std::string::npos) << error.what();
    }
  }
}

TEST(Config, ReadsEveryKindOfValueAndKeepsTheDefaultsOfTheRest) {
  const auto t = read_example(
      "epochs: 7\nrate: 1e-3\nsync: true\nseed: 18446744073709551615\nclasses: [RBC, 'no', \"1\"]\n"
      "sizes: [320, 416]\nanchors: [[1, 2.5], [3, 4]]\nschedule:\n  kind: steps\n  steps: [0.5]\n");
  EXPECT_EQ(t.epochs, 7);
  EXPECT_FLOAT_EQ(t.rate, 1e-3f);
  EXPECT_TRUE(t.sync);
  EXPECT_EQ(t.seed, UINT64_MAX);
  EXPECT_EQ(t.classes, (std::vector<std::string>{"RBC", "no", "1"}));
  EXPECT_EQ(t.sizes, (std::vector<int>{320, 416}));
  EXPECT_EQ(t.anchors, (std::vector<std::vector<float>>{{1, 2.5f}, {3, 4}}));
  EXPECT_EQ(t.schedule.kind, "steps");
  EXPECT_EQ(t.schedule.steps, (std::vector<float>{0.5f}));
  EXPECT_FLOAT_EQ(t.schedule.warmup, 3);
  EXPECT_EQ(t.model, "models/yolov4-tiny.yaml");
}

TEST(Config, AnEmptyFileAndAnEmptySectionGiveTheDefaults) {
  EXPECT_EQ(read_example("").epochs, 100);
  EXPECT_EQ(read_example("# nothing\n").epochs, 100);
  EXPECT_FLOAT_EQ(read_example("schedule:\n").schedule.warmup, 3);
}

TEST(Config, AnUnknownKeyIsRefusedWithFileLineAndTheNearestKnownKey) {
  expect_refused(refusal_of("rate: 1\nepoch: 5\n"), {"run.yaml:2", "'epoch'", "Did you mean 'epochs'?"});
  expect_refused(refusal_of("epochs: 1\nschedule:\n  warmup: 1\n  warmpu: 2\n"),
                 {"run.yaml:4", "'warmpu'", "'warmup'"});
  // Nothing is near: all known keys are listed.
  expect_refused(refusal_of("weight_decay_of_the_optimizer: 1\n"),
                 {"run.yaml:1", "Known here:", "rate", "sync"});
}

TEST(Config, AKeyGivenTwiceIsRefused) {
  expect_refused(refusal_of("rate: 1\nepochs: 5\nrate: 2\n"), {"run.yaml:3", "'rate'", "twice"});
  expect_refused(refusal_of("[rate]: 1\n"), {"run.yaml:1", "a key must be a word"});
}

TEST(Config, AValueOfTheWrongTypeIsRefusedWithItsPlace) {
  expect_refused(refusal_of("\nepochs: many\n"), {"run.yaml:2", "'epochs'", "'many'", "whole number"});
  expect_refused(refusal_of("epochs: 1.5\n"), {"run.yaml:1", "'epochs'", "1.5"});
  expect_refused(refusal_of("sync: maybe\n"), {"run.yaml:1", "true or false"});
  expect_refused(refusal_of("seed: -1\n"), {"run.yaml:1", "'seed'"});
  expect_refused(refusal_of("rate: [1, 2]\n"), {"run.yaml:1", "'rate'", "a number"});
  expect_refused(refusal_of("classes: RBC\n"), {"run.yaml:1", "'classes'", "a list"});
  expect_refused(refusal_of("schedule: 5\n"), {"run.yaml:1", "mapping"});
}

TEST(Config, AValueOutsideItsLimitsIsRefusedWithTheLimit) {
  expect_refused(refusal_of("epochs: 0\n"), {"run.yaml:1", "'epochs' is 0", "at least 1"});
  expect_refused(refusal_of("epochs: 1001\n"), {"1001", "at most 1000"});
  expect_refused(refusal_of("rate: 0\n"), {"'rate'", "above 0"});
  expect_refused(refusal_of("rate: .nan\n"), {"'rate'"});
  expect_refused(refusal_of("schedule: {warmup: -1}\n"), {"'warmup'", "at least 0"});
}

TEST(Config, NumbersThatAreNotFiniteAreRefused) {
  expect_refused(refusal_of("epochs: 2\nrate: .inf\n"), {"run.yaml:2", "'rate'", "not finite"});
  expect_refused(refusal_of("schedule:\n  steps: [1, .nan]\n"), {"run.yaml:2", "'steps'", "not finite"});
  expect_refused(refusal_of("anchors: [[1, 2], [3, -.inf]]\n"), {"run.yaml:1", "'anchors'", "not finite"});
  expect_refused(refusal_of("", {"schedule.warmup=.inf"}), {"--set", "'warmup'", "not finite"});
}

TEST(Config, AKeyWithoutAValueIsRefused) {
  expect_refused(refusal_of("rate: 1\nepochs:\n"), {"run.yaml:2", "'epochs' has no value"});
  expect_refused(refusal_of("model: ~\n"), {"run.yaml:1", "'model' has no value"});
  expect_refused(refusal_of("", {"epochs="}), {"--set", "'epochs' has no value"});
  EXPECT_EQ(read_example("model: \"\"\n").model, "");
}

TEST(Config, ASecondDocumentIsRefusedAndNotIgnored) {
  expect_refused(refusal_of("epochs: 2\n---\nrate: 1\n"), {"run.yaml:3", "second document", "---"});
  EXPECT_EQ(read_example("---\nepochs: 2\n...\n").epochs, 2);
  EXPECT_EQ(read_example("epochs: 2\n---\n").epochs, 2);
}

TEST(Config, MergingMappingsIsRefusedWithWhatToDo) {
  expect_refused(refusal_of("schedule: &s {warmup: 1}\n<<: *s\n"),
                 {"run.yaml:2", "'<<'", "write the keys out"});
}

TEST(Config, AnAssignmentNamesTheOptionItCameFrom) {
  expect_refused(refusal_of("", {"--speed:rate=fast"}), {"--speed: ", "'rate'", "'fast'"});
  EXPECT_FLOAT_EQ(read_example("", {"--speed:rate=2"}).rate, 2);
}

TEST(Config, AnUnknownChoiceIsRefusedWithTheNearest) {
  expect_refused(refusal_of("schedule:\n  kind: cosin\n"),
                 {"run.yaml:2", "cosine, steps, constant", "Did you mean 'cosine'?"});
}

TEST(Config, YamlThatDoesNotParseIsRefusedWithItsLine) {
  EXPECT_THROW(
      {
        try {
          YamlDocument::parse("a: 1\nb: [1, 2\nc: 3\n", "broken.yaml");
        } catch (const InputError& e) {
          expect_refused(e.what(), {"broken.yaml:"});
          throw;
        }
      },
      InputError);
  EXPECT_THROW(YamlDocument::parse("- a\n- b\n", "list.yaml"), InputError);
  EXPECT_THROW(YamlDocument::load("/no/such/file.yaml"), InputError);
  EXPECT_THROW(YamlDocument::load(::testing::TempDir()), InputError);
}

TEST(Config, SetOverridesReplaceAddAndNest) {
  const auto t = read_example("epochs: 5\n", {"epochs=9", "schedule.warmup=1.5", "schedule.steps=[0.1, 0.2]",
                                              "classes=[a, b]", "model=a=b.yaml"});
  EXPECT_EQ(t.epochs, 9);
  EXPECT_FLOAT_EQ(t.schedule.warmup, 1.5f);
  EXPECT_EQ(t.schedule.steps, (std::vector<float>{0.1f, 0.2f}));
  EXPECT_EQ(t.classes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(t.model, "a=b.yaml");
  EXPECT_EQ(read_example("", {"epochs=1", "epochs=2"}).epochs, 2);
  EXPECT_FLOAT_EQ(read_example("schedule:\n", {"schedule.warmup=1.5"}).schedule.warmup, 1.5f)
      << "of a section whose keys are all commented out";
}

TEST(Config, ASetTextIsTakenAsItStands) {
  for (const std::string text : {"q/v #2", "a: b", "da ta: ä #1", "@x", "*x", "&x", "!x", "%x", "|", ">",
                                 "- a", "#", ", a", "a]", "`x`"}) {
    EXPECT_EQ(read_example("", {"model=" + text}).model, text);
    EXPECT_EQ(read_example("", {"model= " + text + " "}).model, text);
    EXPECT_EQ(read_example("", {"model=" + yaml_quoted(text)}).model, text);
    EXPECT_EQ(read_example("", {"classes=[" + yaml_quoted(text) + ", 'b #1']"}).classes,
              (std::vector<std::string>{text, "b #1"}));
  }
  EXPECT_EQ(read_example("", {"model=\"\""}).model, "");
  for (const std::string none : {"", " ", "~", "null"})
    expect_refused(refusal_of("", {"model=" + none}), {"--set", "'model' has no value"});
}

TEST(Config, AfterASetListOrAQuotedTextNothingIsLost) {
  for (const std::string value : {"[a, b] #c", "[a, b #c]", "\"a\" #c", "'a' b", "[a], [b]", "\"a\", b"})
    expect_refused(refusal_of("", {"classes=" + value}),
                   {"--set", "classes=" + value, "quotes: classes=\"...\""});
}

TEST(Config, AValueIsAssignedByItselfOrInAMapping) {
  for (const char* text :
       {"data.val=a", "data={val: a, test: b}", "data={test: b, val: \"\"}", "--fold:data.val=a"})
    EXPECT_TRUE(assigns({"train.size=64", text}, "data.val")) << text;
  for (const char* text : {"data.value=a", "data={test: val}", "train={val: a}", "data.test=data.val=a"})
    EXPECT_FALSE(assigns({text}, "data.val")) << text;
  EXPECT_FALSE(assigns({"data.val=a", "data={test: b}"}, "data.val")) << "the last one is taken";
  EXPECT_FALSE(assigns({}, "data.val"));
}

TEST(Config, SetMistakesNameTheCommandLineAndNotTheFile) {
  expect_refused(refusal_of("epochs: 5\n", {"epohcs=9"}), {"--set", "'epohcs'", "Did you mean 'epochs'?"});
  expect_refused(refusal_of("epochs: 5\n", {"epochs=many"}), {"--set", "'epochs'", "'many'"});
  expect_refused(refusal_of("epochs: 5\n", {"epochs=0"}), {"--set", "at least 1"});
  expect_refused(refusal_of("epochs: 5\n", {"epochs.first=1"}), {"--set", "not a mapping"});
  expect_refused(refusal_of("schedule: {warmup: 1}\n", {"schedule="}), {"--set", "'schedule' has no value"});
  expect_refused(refusal_of("", {"schedule=", "epochs=2"}), {"--set", "'schedule' has no value"});
  EXPECT_FLOAT_EQ(read_example("", {"schedule=", "schedule.warmup=1.5"}).schedule.warmup, 1.5f);
  for (const std::string malformed : {"epochs", "=5", "epochs=[1", ".epochs=1", "schedule.=1", "a..b=1"}) {
    expect_refused(refusal_of("epochs: 5\n", {malformed}), {"--set"});
  }
}

TEST(Config, WhatIsPrintedReadsBackTheSame) {
  Training t;
  t.epochs = 3;
  t.rate = 0.1f;
  t.sync = true;
  t.classes = {"RBC", "no", "1", "a: b", "é", ""};
  t.model = "12";
  t.schedule.steps = {0.25f};
  for (const bool docs : {false, true}) {
    const std::string text = print_config(t, docs);
    const auto again = read_example(text);
    EXPECT_EQ(print_config(again, docs), text);
    EXPECT_EQ(again.classes, t.classes);
    EXPECT_EQ(again.model, "12");
    EXPECT_FLOAT_EQ(again.rate, 0.1f);
    EXPECT_EQ(again.anchors, t.anchors);
    EXPECT_EQ(text.find("burn-in") != std::string::npos, docs);
  }
  EXPECT_NE(print_config(t, false).find("rate: 0.1\n"), std::string::npos) << "0.1 and not 0.100000001";
  t.rate = 0.1234567f;
  EXPECT_NE(print_config(t, false).find("rate: 0.1234567\n"), std::string::npos) << print_config(t, false);
}

TEST(Config, NumbersReadBackToTheLastBit) {
  for (const float value : {1.f / 3, 0.00123456789f, 16777215.f, 1e-30f, std::nextafter(0.002f, 1.f)}) {
    Training t;
    t.rate = value;
    t.schedule.steps = {value};
    const auto again = read_example(print_config(t, false));
    EXPECT_EQ(again.rate, value);
    EXPECT_EQ(again.schedule.steps, t.schedule.steps);
  }
}

TEST(Config, AFileIsReadFromItsPlaceAndNamedInMessages) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "config test é.yaml";
  write_atomically(file, std::string("epochs: 5\nsicze: 1\n"));
  Training t;
  try {
    read_config(YamlDocument::load(file).root(), t);
    FAIL();
  } catch (const InputError& e) {
    expect_refused(e.what(), {file.string() + ":2"});
  }
}

TEST(Config, ABinaryFileIsCalledOne) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "config_test_binary.yaml";
  const auto refusal = [&](const std::string& bytes) -> std::string {
    write_atomically(file, bytes);
    try {
      YamlDocument::load(file);
      return "";
    } catch (const InputError& e) {
      return e.what();
    }
  };
  using namespace std::string_literals;
  const std::string onnx = refusal(
      "\x08\x08\x12\x09"
      "brightnet: \"\\@\"\n"s);
  EXPECT_EQ(onnx.find(file.string() + ": this is a binary file"), 0u) << onnx;
  EXPECT_EQ(refusal("epochs: 5 \t# five\r\n"s), "");
  const std::string utf16 = refusal(
      "\xff\xfe"
      "a\0:\0 \0\x41\x01\n\0"s);  // a: and a letter of U+0141
  EXPECT_EQ(utf16.find("binary"), std::string::npos) << utf16;
}

TEST(Config, ALimitItselfIsWithinIt) {
  EXPECT_EQ(read_example("epochs: 1\n").epochs, 1);
  EXPECT_EQ(read_example("epochs: 1000\n").epochs, 1000);
  EXPECT_EQ(read_example("schedule: {warmup: 0}\n").schedule.warmup, 0);
}

TEST(Config, AnUnknownSectionThatWasSetNamesTheCommandLine) {
  expect_refused(refusal_of("epochs: 5\n", {"scedule.warmup=1"}), {"--set: ", "'scedule'", "'schedule'"});
  expect_refused(refusal_of("", {"--speed:scedule.warmup=1"}), {"--speed: ", "'scedule'"});
}

}  // namespace
}  // namespace brightnet
