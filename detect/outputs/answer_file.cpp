#include "detect/outputs/answer_file.h"

#include <fstream>

#include <unistd.h>

#include "core/error.h"
#include "detect/outputs/output.h"

namespace brightnet {

namespace fs = std::filesystem;

void check_answer_file(const std::string& file, const std::string& option, const std::string& beginning) {
  if (file == "-") return;
  const fs::path path(file);
  prepare_folder(path.parent_path(), option);
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (!fs::is_regular_file(path, error)) {
    throw InputError("this already exists and is not a regular file", file,
                     "Name another with " + option + "; - is standard output.");
  }
  std::ifstream in(path, std::ios::binary);
  std::string begins(beginning.size(), '\0');
  in.read(begins.data(), static_cast<std::streamsize>(begins.size()));
  begins.resize(static_cast<size_t>(in.gcount()));
  const auto size = fs::file_size(path, error);
  // Of a list that found nothing, all there is.
  const bool empty_list = size == 4 && beginning.starts_with("[\n") && begins == "[\n]\n";
  if (begins == beginning || empty_list || size == 0) return;
  throw InputError("a file of this name already exists and is not an earlier output of this kind", file,
                   "Move it, or give another with " + option + '.');
}

std::string answer_beginning(const std::string& first_key) {
  return "{\n  \"" + first_key + "\":";
}

}  // namespace brightnet
