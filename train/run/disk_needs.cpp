#include "train/run/disk_needs.h"

#include <fmt/format.h>

#include "core/host_memory.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// What an epoch adds to metrics.csv, TensorBoard's events and train.log.
constexpr uint64_t bytes_of_row = 4096;
/// A sheet of photographs of 1600 x 1600 pixels, as PNG, in the events.
constexpr uint64_t bytes_of_picture = 4 << 20;
/// The other pictures and texts of a run's folder.
constexpr uint64_t bytes_of_pictures = 16 << 20;

}  // namespace

uint64_t DiskNeeds::events() const {
  return epochs * bytes_of_row + evaluations * bytes_of_picture;
}

uint64_t DiskNeeds::total() const {
  return 2 * state + weights_files * weights + events() + bytes_of_pictures;
}

std::string describe_shortage(const DiskNeeds& needs, uint64_t present, uint64_t free,
                              const std::string& folder) {
  const uint64_t more = needs.total() > present ? needs.total() - present : 0;
  if (more <= free) return "";
  return fmt::format(
      "{}: this run's files may need {} more, and {} are free there: {} for the state (twice, while a new "
      "one is written), {} for {} weights files, up to {} for TensorBoard and logs, {} for pictures. A file "
      "that cannot be written does not end the run; every save tries again. Free some space, or train under "
      "another --out.",
      folder, format_bytes(more), format_bytes(free), format_bytes(2 * needs.state),
      format_bytes(needs.weights_files * needs.weights), needs.weights_files, format_bytes(needs.events()),
      format_bytes(bytes_of_pictures));
}

uint64_t bytes_in(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code vanished;
    if (at->is_regular_file(vanished)) bytes += at->file_size(vanished);
  }
  return bytes;
}

}  // namespace brightnet
