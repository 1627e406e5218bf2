#include "data/formats/folder.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>

#include "core/error.h"
#include "data/image/read_image.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class Walk {
 public:
  explicit Walk(const fs::path& root) : root_(fs::canonical(root)) {
    visit(root);
    // Links are visited last and in order, so that a folder which is also below the root is found by its own
    // name, next to which its labels are.
    while (!links_.empty()) {
      std::vector<fs::path> links;
      links.swap(links_);
      std::sort(links.begin(), links.end());
      for (const auto& link : links) visit(link);
    }
    std::sort(files_.images.begin(), files_.images.end());
    std::sort(files_.others.begin(), files_.others.end());
  }

  FolderFiles take() { return std::move(files_); }

 private:
  bool is_above_root(const fs::path& real) const {
    return std::mismatch(real.begin(), real.end(), root_.begin(), root_.end()).first == real.end();
  }

  void visit(const fs::path& folder) {
    const fs::path real = fs::canonical(folder);
    if ((real != root_ && is_above_root(real)) || !visited_.insert(real).second) return;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const fs::path path = entry.path().lexically_normal();
      if (is_clutter(path)) continue;
      std::error_code failed;
      if (!entry.is_directory(failed)) {
        (is_image_name(path) ? files_.images : files_.others).push_back(path);
      } else if (entry.is_symlink(failed)) {
        links_.push_back(path);
      } else {
        visit(path);
      }
    }
  }

  fs::path root_;
  FolderFiles files_;
  std::vector<fs::path> links_;  // links to folders that are not visited yet
  std::set<fs::path> visited_;
};

}  // namespace

FolderFiles files_below(const fs::path& folder) {
  try {
    return Walk(folder).take();
  } catch (const fs::filesystem_error& e) {
    throw InputError("this folder cannot be read: " + e.code().message(), e.path1().string(),
                     "Check the path and its permissions.");
  }
}

std::vector<fs::path> images_below(const fs::path& folder) {
  return files_below(folder).images;
}

bool is_label_name(const fs::path& file) {
  static const std::array<fs::path, 3> known{".txt", ".xml", ".json"};
  return std::find(known.begin(), known.end(), file.extension()) != known.end();
}

std::string without_extension(fs::path file) {
  return file.replace_extension().string();
}

void report_unknown_endings(const FolderFiles& files,
                            const std::function<LabelFile(const fs::path&)>& labels_of, ProblemLog& log) {
  std::unordered_set<std::string> stems;  // the images' stems: files with these are their labels
  for (const auto& file : files.others) {
    if (is_label_name(file) || !labels_of(file).found) continue;
    if (stems.empty()) {
      for (const auto& image : files.images) stems.insert(without_extension(image));
    }
    if (stems.contains(without_extension(file))) continue;
    log.add(DataProblem::Kind::unknown_ending, file.string(), image_conversion(file));
  }
}

}  // namespace brightnet
