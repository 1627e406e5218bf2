#include "data/fold.h"

#include <gtest/gtest.h>

#include "data/formats/read.h"

namespace brightnet {
namespace {

TEST(Fold, IsReadAndPrintedAsPartOfCount) {
  EXPECT_EQ(parse_fold(" 2 / 5 ", ""), (Fold{2, 5}));
  EXPECT_EQ(to_text(Fold{2, 5}), "2/5");
  EXPECT_FALSE(parse_fold("", ""));
  EXPECT_EQ(to_text(Fold{}), "");
  for (const char* wrong : {"0/5", "6/5", "1/1", "2", "2/", "/5", "a/5", "1/5x", "-1/5"})
    EXPECT_THROW(parse_fold(wrong, "run.yaml:3"), InputError) << wrong;
  DataOptions options;
  read_config(YamlDocument::parse("fold: 3/10\n", "c.yaml").root(), options);
  EXPECT_EQ(options.fold, (Fold{3, 10}));
  DataOptions again;
  read_config(YamlDocument::parse(print_config(options), "c.yaml").root(), again);
  EXPECT_EQ(again.fold, options.fold);
}

}  // namespace
}  // namespace brightnet
