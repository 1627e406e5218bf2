// What a shell offers for a command line. That the shells do is shown in tests/end_to_end/install_test.cpp.
#include "cli/complete_words.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "brightnet/configuration.h"
#include "cli/commands.h"

namespace brightnet::cli {
namespace {

class CompleteWords : public ::testing::Test {
 protected:
  CompleteWords() { add_commands(app_, action_); }

  std::vector<std::string> offered(const std::vector<std::string>& words) const {
    std::vector<std::string> all;
    for (const auto& one : complete(app_, words).words) all.push_back(one.word);
    return all;
  }
  bool offers(const std::vector<std::string>& words, const std::string& word) const {
    const auto all = offered(words);
    return std::find(all.begin(), all.end(), word) != all.end();
  }
  bool offers_files(const std::vector<std::string>& words) const { return complete(app_, words).files; }

  CLI::App app_{"", "brightnet"};
  Action action_;
};

using List = std::vector<std::string>;

TEST_F(CompleteWords, OffersCommandsAndThoseBelow) {
  EXPECT_EQ(offered({"tr"}), List{"train"});
  EXPECT_TRUE(offers({""}, "detect"));
  EXPECT_EQ(offered({"data", "ch"}), List{"check"});
  EXPECT_EQ(offered({"help", "data", "ch"}), List{"check"});
  EXPECT_EQ(offered({"nonsense", "tr"}), List{"train"});
}

TEST_F(CompleteWords, OffersOptionsWithTheirHelp) {
  const auto found = complete(app_, {"train", "--ep"}).words;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].word, "--epochs");
  EXPECT_EQ(found[0].about, "passes over the training images (train.epochs)");
  EXPECT_TRUE(offers({"train", "run.yaml", "--epochs", "3", "--"}, "--batch"));
}

TEST_F(CompleteWords, TellsTheFirstClauseOfAHelpWithItsColons) {
  const auto about = [&](const List& words) {
    const auto found = complete(app_, words).words;
    return found.size() == 1 ? found[0].about : "not one word";
  };
  EXPECT_EQ(about({"train", "--dev"}), "auto, cpu, cuda or cuda:N");
  EXPECT_EQ(about({"tune", "--jo"}), "trials side by side");
}

TEST_F(CompleteWords, OffersTheWordsThatAnOptionTakes) {
  EXPECT_EQ(offered({"eval", "--split", ""}), (List{"train", "val", "test"}));
  EXPECT_EQ(offered({"eval", "--split=v"}), List{"--split=val"});
  EXPECT_TRUE(offers({"train", "--device", ""}, "cuda:0"));
  EXPECT_TRUE(offers({"train", "--precision", ""}, "bf16"));
  EXPECT_EQ(offered({"bench", "--precision", "fp32,b"}), List{"fp32,bf16"});
  EXPECT_EQ(offered({"train", "--model", "yolov4-tiny-"}), List{"yolov4-tiny-3l"});
  EXPECT_TRUE(offers({"download", ""}, "yolov4-tiny.conv.29"));
  EXPECT_EQ(offered({"tune", "--keys", "optimizer.rate,optimizer.mom"}),
            List{"optimizer.rate,optimizer.momentum"});
  EXPECT_EQ(offered({"completion", "z"}), List{"zsh"});
}

TEST_F(CompleteWords, OffersFilesWhereAFileIsMeant) {
  for (const List& words : std::vector<List>{{"train", ""},
                                             {"train", "--data", ""},
                                             {"train", "--model", ""},
                                             {"detect", "--source", ""},
                                             {"eval", "--json=a"},
                                             {"compare", "runs/a", ""},
                                             {"train", "--resume", ""}})
    EXPECT_TRUE(offers_files(words)) << words[0] << ' ' << words[1];
  for (const List& words : std::vector<List>{{"train", "--epochs", ""},
                                             {"eval", "--split", ""},
                                             {"tr"},
                                             {"train", "--"},
                                             {"train", "--set", ""}})
    EXPECT_FALSE(offers_files(words)) << words[0];
}

TEST_F(CompleteWords, OffersEveryKeyAfterSet) {
  for (const std::string& key : config_keys()) EXPECT_TRUE(offers({"train", "--set", key}, key + '=')) << key;
  EXPECT_TRUE(offers({"train", "--set", "head."}, "head.iou_loss="));
  EXPECT_EQ(offered({"train", "--set", "data.tiles.si"}), List{"data.tiles.size="});
  EXPECT_EQ(offered({"train", "--set", "optimizer.kind="}),
            (List{"optimizer.kind=adamw", "optimizer.kind=sgd", "optimizer.kind=lion"}));
  EXPECT_EQ(offered({"train", "--set", "train.sync_bn="}),
            (List{"train.sync_bn=true", "train.sync_bn=false"}));
  EXPECT_EQ(offered({"train", "--set", "train.batch="}), List{"train.batch=auto"});
  EXPECT_TRUE(offers({"train", "--set", "train.precision="}, "train.precision=auto"));
  EXPECT_EQ(offered({"train", "--set=train.graph=t"}), List{"--set=train.graph=true"});
  EXPECT_EQ(offered({"train", "--set", "train.nonsense="}), List{});
  EXPECT_TRUE(offers({"eval", "--set", "evaluate."}, "evaluate.nms.iou="));
  EXPECT_FALSE(offers({"eval", "--set", "train."}, "train.patience=")) << "which eval refuses";
}

TEST_F(CompleteWords, OffersTheSecondValueOfOneSet) {
  EXPECT_TRUE(offers({"train", "--set", "train.epochs=50", "data.fo"}, "data.format="));
  EXPECT_TRUE(offers({"train", "--set", "train.epochs=50", "train.batch=4", "data.fo"}, "data.format="));
  EXPECT_TRUE(offers({"train", "--set", "train.epochs=50", "optimizer.kind="}, "optimizer.kind=sgd"));
  EXPECT_TRUE(offers_files({"train", "--set", "train.epochs=50", ""})) << "the configuration's";
  for (const List& words : std::vector<List>{{"train", "--set", "train.epochs=50", "run.yaml", "data.fo"},
                                             {"train", "--set", "train.epochs=50", "--no-graph", "data.fo"},
                                             {"train", "--epochs", "50", "data.fo"}})
    EXPECT_FALSE(offers(words, "data.format=")) << words[3];
}

}  // namespace
}  // namespace brightnet::cli
