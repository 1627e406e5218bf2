// What a shell completes a command line with: the commands, options and values of the command tree. (private to cli/)
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace brightnet::cli {

struct Completion {
  struct Word {
    std::string word;   ///< the whole word as it will stand on the command line; one that ends in = goes on
    std::string about;  ///< short description; may be empty
  };
  std::vector<Word> words = {};
  bool files = false;  ///< names of files fit too, behind "--option=" where the last word begins so
};

/// Completes the last of these words, which may be empty; the others stand between it and the program's name.
/// Only what begins as it does is returned.
Completion complete(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace brightnet::cli
