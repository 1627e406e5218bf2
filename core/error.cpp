#include "core/error.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <new>
#include <numeric>
#include <string_view>
#include <system_error>
#include <vector>

namespace brightnet {
namespace {

std::string paragraph(const std::string& what, const std::string& where, const std::string& remedy) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!text.empty() && text.back() != '.' && text.back() != '?' && text.back() != '!') text += '.';
  if (!remedy.empty()) text += ' ' + remedy;
  if (text.back() != '.' && text.back() != '?' && text.back() != '!') text += '.';
  return text;
}

bool lacks_memory(const std::exception& problem) {
  // OpenCV has an exception of its own for it, which core does not know of.
  return dynamic_cast<const std::bad_alloc*>(&problem) != nullptr ||
         std::string_view(problem.what()).find("(-4:Insufficient memory)") != std::string_view::npos;
}

bool lacks_threads(const std::exception& problem) {
  const auto* refused = dynamic_cast<const std::system_error*>(&problem);
  return refused && refused->code() == std::errc::resource_unavailable_try_again;
}

const std::filesystem::filesystem_error* as_file_error(const std::exception& problem) {
  return dynamic_cast<const std::filesystem::filesystem_error*>(&problem);
}

}  // namespace

Error::Error(ExitCode code, const std::string& what, const std::string& where, const std::string& remedy)
    : std::runtime_error(paragraph(what, where, remedy)), code_(code) {}

std::string describe_internal(const std::exception& problem) {
  if (const auto* failed = as_file_error(problem)) {
    const std::string where =
        failed->path1().empty() ? "." : failed->path1().string();  // without: the working folder
    return paragraph("this file or folder cannot be used: " + failed->code().message(), where,
                     "Check the path, and that you may read and write there.");
  }
  if (code_of_internal(problem) == ExitCode::input) {
    return std::string("this machine has no more ") + (lacks_threads(problem) ? "threads" : "memory") +
           " for the process. Use a smaller train.micro_batch or loader.cache_mb, fewer loader.workers, or "
           "fewer ranks on this machine; `ulimit -a` shows the limits of the process.";
  }
  return std::string("internal error: ") + problem.what() + ". This is a bug in brightnet; please report it.";
}

ExitCode code_of_internal(const std::exception& problem) {
  return as_file_error(problem) || lacks_memory(problem) || lacks_threads(problem) ? ExitCode::input
                                                                                   : ExitCode::internal;
}

int edit_distance(const std::string& a, const std::string& b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw std::logic_error(message + " (" + condition + " is false at " + file + ":" + std::to_string(line) +
                         ")");
}

}  // namespace brightnet
