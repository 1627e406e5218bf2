#include "data/formats/folder.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/written_list.h"
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
    for (const fs::path& link : image_links_) {
      if (!is_listed(real_path(link), link)) files_.images.push_back(link);
    }
    std::sort(files_.images.begin(), files_.images.end());
    std::sort(files_.others.begin(), files_.others.end());
  }

  FolderFiles take() { return std::move(files_); }

 private:
  bool is_above_root(const fs::path& real) const {
    return std::mismatch(real.begin(), real.end(), root_.begin(), root_.end()).first == real.end();
  }

  /// Whether the file that a link leads to is an image of a folder that was visited.
  bool is_listed(const fs::path& real, const fs::path& link) const {
    return real != link && visited_.contains(real.parent_path()) && is_image_name(real);
  }

  void visit(const fs::path& folder) {
    const fs::path real = fs::canonical(folder);
    if ((real != root_ && is_above_root(real)) || !visited_.insert(real).second) return;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const fs::path path = entry.path().lexically_normal();
      if (is_clutter(path)) continue;
      std::error_code failed;
      if (!entry.is_directory(failed)) {
        const bool link = entry.is_symlink(failed), image = is_image_name(path);
        (!image ? files_.others : link ? image_links_ : files_.images).push_back(path);
      } else if (is_output_folder(path)) {
        continue;
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
  std::vector<fs::path> image_links_;
  std::set<fs::path> visited_;
};

}  // namespace

bool is_output_folder(const fs::path& folder) {
  std::error_code failed;
  const auto is_output = [&](const fs::path& place) {
    const auto has = [&](const char* name) { return fs::exists(place / name, failed); };
    return (has("config.yaml") && has("train.log")) || any_written(place, is_image_name);
  };
  if (is_output(folder)) return true;
  if (folder.filename() != "runs") return false;
  const fs::directory_iterator runs(folder, failed);
  return std::any_of(begin(runs), end(runs), [&](const auto& entry) { return is_output(entry.path()); });
}

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

bool has_extension(const fs::path& file, std::string_view extension) {
  const std::string& name = file.native();
  return name.size() > extension.size() &&
         lower_case(name.substr(name.size() - extension.size())) == extension &&
         file.extension().native().size() == extension.size();  // not ".txt" alone, a hidden file
}

std::vector<fs::path> files_in(const fs::path& folder, const std::function<bool(const fs::path&)>& is) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (is(entry.path()) && !is_clutter(entry.path()) && entry.is_regular_file(failed))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> files_with_extension(const fs::path& folder, std::string_view extension) {
  return files_in(folder, [&](const fs::path& file) { return has_extension(file, extension); });
}

bool is_label_name(const fs::path& file) {
  static constexpr std::array<std::string_view, 3> known{".txt", ".xml", ".json"};
  return std::any_of(known.begin(), known.end(),
                     [&](std::string_view extension) { return has_extension(file, extension); });
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
