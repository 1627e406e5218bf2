#include "data/synth/synth.h"

#include <atomic>
#include <cerrno>
#include <exception>
#include <fstream>
#include <regex>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "data/image/jpeg.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

// Identifies a folder that this command created.
constexpr const char* signature = "# Made by brightnet data synth";

std::string first_line(const fs::path& file) {
  std::ifstream in = open_regular(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The first file or folder below `folder` that make_synthetic_dataset() would not create; empty if none. A call that was
/// killed may have left a temporary file.
fs::path first_stranger(const fs::path& folder) {
  static const std::regex ours(
      R"(data\.yaml(\.\d+-\d+\.tmp)?|(images|labels)(/(train|val)(/\d{6}\.(jpg|txt))?)?)");
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const auto name = entry.path().lexically_relative(folder).generic_string();
    if (entry.is_symlink() || !std::regex_match(name, ours)) return entry.path();
  }
  return {};
}

/// Throws unless `folder` may be deleted: it is absent, empty, or contains only generated files.
void require_replaceable(const fs::path& folder, bool finished) {
  if (!fs::exists(folder)) return;
  const char* remedy = "Name another folder, or move it away first.";
  if (!fs::is_directory(folder)) throw InputError("this is not a folder", folder.string(), remedy);
  if (fs::is_empty(folder)) return;
  if (finished && !first_line(folder / "data.yaml").starts_with(signature)) {
    throw InputError("this folder holds something else than a synthetic data set and is left alone",
                     folder.string(), remedy);
  }
  if (const auto stranger = first_stranger(folder); !stranger.empty()) {
    throw InputError("this is not part of the synthetic data set, so its folder is left alone",
                     stranger.string(), remedy);
  }
}

std::string label_text(const SynthImage& image) {
  std::ostringstream text;
  text.setf(std::ios::fixed);
  text.precision(6);
  const float width = image.pixels.cols, height = image.pixels.rows;
  for (const auto& a : image.annotations) {
    text << a.class_id << ' ' << (a.x1 + a.x2) / 2 / width << ' ' << (a.y1 + a.y2) / 2 / height << ' '
         << (a.x2 - a.x1) / width << ' ' << (a.y2 - a.y1) / height << '\n';
  }
  return text.str();
}

void write_whole(const fs::path& file, const std::string& contents) {
  std::ofstream out(file, std::ios::binary);
  out << contents;
  out.close();
  if (!out)
    throw InputError("this file cannot be written", file.string(),
                     "Check that you may write there and that the disk is not full.");
}

void write_sample(const SynthImage& image, const fs::path& folder, const std::string& split, int index) {
  char name[16];
  std::snprintf(name, sizeof name, "%06d", index);
  const fs::path picture = folder / "images" / split / (std::string(name) + ".jpg");
  const fs::path labels = folder / "labels" / split / (std::string(name) + ".txt");
  write_whole(labels, label_text(image));
  const std::vector<uint8_t> jpeg = encode_jpeg(image.pixels, 92);
  write_whole(picture, {jpeg.begin(), jpeg.end()});
}

void write_split(const SynthOptions& options, Split split, int count, const fs::path& folder) {
  const std::string name(enum_name(split));
  fs::create_directories(folder / "images" / name);
  fs::create_directories(folder / "labels" / name);
  std::exception_ptr failure;  // an exception must not leave the parallel loop
  std::atomic<bool> failed = false;
#pragma omp parallel for schedule(dynamic, 8)
  for (int i = 0; i < count; ++i) {
    if (failed) continue;
    try {
      write_sample(draw_synthetic_image(options, split, i), folder, name, i);
    } catch (...) {
#pragma omp critical(synth_failure)
      failure = std::current_exception();
      failed = true;
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// The YAML of the data set, without a root, so that the places start in its own folder: a copy of the data
/// set is read as it is, not as the one that it was copied from.
std::string description(const SynthOptions& options) {
  std::ostringstream text;
  text << signature << ": seed " << options.seed << ", " << options.train_images << " + "
       << options.val_images << " images of " << image_size(options).width << " x "
       << image_size(options).height << " pixels, " << options.min_objects << " to " << options.max_objects
       << " objects.\n"
       << "format: yolo\ntrain: images/train\nval: images/val\nclasses: [";
  for (int i = 0; i < options.classes; ++i) text << (i ? ", " : "") << synth_class_names()[i];
  text << "]\n";
  return text.str();
}

/// Flushes all that was written to the folder's file system to the disk: quicker than one by one where there are thousands.
void flush_file_system(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::syncfs(opened.number()) != 0)
    throw fs::filesystem_error("syncfs", folder, std::error_code(errno, std::generic_category()));
}

}  // namespace

void make_synthetic_dataset(const SynthOptions& options, const fs::path& folder) {
  check(options);
  // Written to a temporary folder and then renamed, so that an interrupted call never leaves a partial data
  // set. A trailing slash is removed from the name.
  const fs::path target = without_slash(folder);
  fs::path unfinished = target;
  unfinished += ".unfinished";
  if (lies_in(".", target)) {
    throw InputError("this is the current folder or one above it, which cannot be replaced by a new one",
                     folder.string(), "Call the command from the folder above.");
  }
  require_replaceable(target, true);
  require_replaceable(unfinished, false);
  try {
    fs::remove_all(unfinished);
    write_split(options, Split::train, options.train_images, unfinished);
    write_split(options, Split::val, options.val_images, unfinished);
    write_atomically(unfinished / "data.yaml", description(options));
    flush_file_system(unfinished);
    fs::remove_all(target);
    fs::rename(unfinished, target);
    flush_folder(target.parent_path());
  } catch (const InputError&) {
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
    throw;
  } catch (const fs::filesystem_error& e) {
    throw InputError("the data set cannot be written: " + e.code().message(), e.path1().string(),
                     "Check that you may write there and that the disk is not full.");
  }
}

}  // namespace brightnet
