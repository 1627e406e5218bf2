// metrics.csv: one row per epoch, for people, spreadsheets and results.png.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace brightnet {

/// A table of numbers whose first column is the epoch. An empty cell is NaN: not measured in that epoch.
struct MetricsTable {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;

  /// Index of a column, or -1.
  int column(const std::string& name) const;
};

/// Reads a metrics.csv. An incomplete last line (the machine died while writing it) is dropped; throws
/// InputError with file:line for any other format error.
MetricsTable read_metrics_csv(const std::filesystem::path& file);

/// Appends rows to a metrics.csv, each flushed as it is written.
class MetricsCsv {
 public:
  /// Starts a new file with the header `epoch,columns...`, replacing an old one.
  MetricsCsv(std::filesystem::path file, const std::vector<std::string>& columns);
  /// Continues after `after_epoch`: rows of later epochs, which the resumed run repeats, are removed. Starts
  /// a new file when there is none. Throws InputError when the old one has different columns.
  MetricsCsv(std::filesystem::path file, const std::vector<std::string>& columns, int after_epoch);

  /// One value per column; NaN leaves the cell empty. Throws InputError when the file cannot be written.
  void append(int epoch, const std::vector<double>& values);

 private:
  std::filesystem::path file_;
  size_t columns_;
};

}  // namespace brightnet
