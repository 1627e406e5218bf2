// What a shell completes a command line with: the commands, options and values of the command tree. (private to cli/)
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace brightnet::cli {

struct Completion {
  struct Word {
    std::string word;   ///< whole, as it will stand on the command line; one that ends in = goes on
    std::string about;  ///< may be empty
  };
  std::vector<Word> words = {};
  bool files = false;  ///< the names of files as well; behind "--option=", where the last word begins so
};

/// For the last of these words, which may be empty, after the program's name and those before it. Only what begins as it
/// does.
Completion complete(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace brightnet::cli
