// The training of tests/python/test_training.py by the library: train_once MODEL DATA FOLDER prints the path of the last weights.
#include <cstdio>
#include <exception>

#include "brightnet/train.h"

int main(int count, char** arguments) try {
  if (count != 4) return 2;
  const brightnet::TrainingResult run =
      brightnet::train({.run = {.model = arguments[1],
                                .data = arguments[2],
                                .settings = {"train.seed=1", "evaluate.every=1", "loader.workers=1"},
                                .precision = "fp32",
                                .size = "64",
                                .batch = 4},
                        .epochs = 2,
                        .folder = arguments[3],
                        .device = "cpu"});
  std::puts((run.folder / "weights/last.safetensors").c_str());
  return 0;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
