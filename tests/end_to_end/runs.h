// Trainings by the program, small and short, each in a folder of its own.
#pragma once

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {

class Runs : public ::testing::Test {
 protected:
  /// The arguments of a short training, with more of them and with more settings.
  static std::vector<std::string> train(const std::vector<std::string>& more,
                                        const std::vector<std::string>& settings = {}) {
    std::vector<std::string> arguments{"train", "run.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return with_settings(arguments, SmallRun::short_run(settings));
  }
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  }
  std::filesystem::path path(const std::string& name) const { return run_.folder() / name; }
  std::string file(const std::string& name) const { return read_file(path(name)); }

  SmallRun run_;
};

}  // namespace brightnet::testing
