#include "core/output_files.h"

#include <fstream>

#include <unistd.h>

#include "brightnet/answer.h"
#include "core/error.h"
#include "core/files.h"

namespace brightnet {

namespace fs = std::filesystem;

namespace {

void require_writable(const fs::path& folder, const std::string& option) {
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw InputError("this folder cannot be written to", folder.string(), "Name another with " + option + '.');
}

}  // namespace

void check_folder(const fs::path& path, const std::string& option) {
  fs::path there = fs::absolute(path.empty() ? fs::path(".") : path);
  std::error_code error;
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) {
    throw InputError("this folder cannot be made: " + there.string() + " is not a folder", path.string(),
                     "Name another with " + option + '.');
  }
  require_writable(there, option);
}

void prepare_folder(const fs::path& path, const std::string& option) {
  const fs::path folder = path.empty() ? fs::path(".") : path;
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) {
    throw InputError("this folder cannot be made: " + error.message(), folder.string(),
                     "Name another with " + option + '.');
  }
  require_writable(folder, option);
}

void refuse_to_replace(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return;
  throw InputError("a file of this name already exists", file.string(),
                   "Name another with --out, or replace it with --force.");
}

void refuse_to_replace_inputs(const std::vector<fs::path>& written, const std::vector<fs::path>& read) {
  std::error_code error;
  for (const auto& file : written) {
    for (const auto& input : read) {
      if (!fs::equivalent(file, input, error)) continue;
      throw InputError("this input file would be overwritten", file.string(), "Name another with --out.");
    }
  }
}

void refuse_same_outputs(const fs::path& file, const std::string& option,
                         const std::vector<fs::path>& others) {
  const auto place = [](const fs::path& path) {
    const fs::path absolute = fs::absolute(path);
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(absolute, error);
    return error ? absolute : whole;
  };
  std::error_code error;
  for (const fs::path& other : others) {
    if (place(file) != place(other) && !fs::equivalent(file, other, error)) continue;
    throw InputError("two outputs would be written there", file.string(),
                     "Name another with " + option + '.');
  }
}

void check_answer_file(const std::string& file, const std::string& option, const std::string& beginning) {
  if (file == "-") return;
  const fs::path path(file), name = path.filename();
  if (name.empty() || name == "." || name == "..") {
    throw InputError("this is the name of a folder, and a file is written", file,
                     "Name a file with " + option + "; - is standard output.");
  }
  check_folder(path.parent_path(), option);
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (!fs::is_regular_file(path, error)) {
    throw InputError("this already exists and is not a regular file", file,
                     "Name another with " + option + "; - is standard output.");
  }
  std::ifstream in(path, std::ios::binary);
  std::string begins(beginning.size(), '\0');
  in.read(begins.data(), static_cast<std::streamsize>(begins.size()));
  begins.resize(in.gcount());
  const auto size = fs::file_size(path, error);
  // This is all that a list has when nothing was found.
  const bool empty_list = size == 4 && beginning.starts_with("[\n") && begins == "[\n]\n";
  // Nothing is lost with an empty file (mktemp's), unless it says that an image has no objects.
  const bool is_label = path.extension() == ".txt";
  if (begins == beginning || empty_list || (size == 0 && !is_label)) return;
  throw InputError("a file of this name already exists and is not an earlier output of this kind", file,
                   "Move it, or give another with " + option + '.');
}

std::string answer_beginning(const std::string& first_key) {
  return "{\n  \"" + first_key + "\":";
}

void write_answer_file(const std::string& file, const std::string& option, const std::string& json) {
  check_answer_file(file, option, json.substr(0, json.find(':') + 1));
  if (file != "-") prepare_folder(fs::path(file).parent_path(), option);
  write_atomically(file, json);
}

}  // namespace brightnet
