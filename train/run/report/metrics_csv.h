// metrics.csv: one row an epoch, for people, spreadsheets and results.png.
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

/// Reads a metrics.csv. A last line that is cut short (the machine died while writing it) is left out; throws
/// InputError with file:line for anything else that is not such a table.
MetricsTable read_metrics_csv(const std::filesystem::path& file);

/// Appends rows to a metrics.csv, each flushed as it is written.
class MetricsCsv {
 public:
  /// Starts a new file with the header `epoch,columns...`; an old one is replaced.
  MetricsCsv(std::filesystem::path file, const std::vector<std::string>& columns);
  /// Continues after `epoch`: rows of later epochs are cut, because the resumed run will do them again.
  /// Starts a new file when there is none. Throws InputError when the old one has other columns.
  MetricsCsv(std::filesystem::path file, const std::vector<std::string>& columns, int after_epoch);

  /// One value a column; NaN leaves the cell empty. Throws InputError when the file cannot be written.
  void append(int epoch, const std::vector<double>& values);

 private:
  std::filesystem::path file_;
  size_t columns_;
};

}  // namespace brightnet
