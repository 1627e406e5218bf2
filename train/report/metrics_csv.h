// metrics.csv: one row per epoch, and one per evaluation within an epoch, for people, spreadsheets and results.png.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace brightnet {

/// How far an epoch's number in a file may be off by its rounding.
constexpr double epoch_rounding = 1e-5;

/// A table of numbers whose first column is the epoch: 3 at the end of the third, 2.4 after 0.4 of it. An
/// empty cell is NaN: not measured then.
struct MetricsTable {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;

  /// Index of a column, or -1.
  int column(const std::string& name) const;
  /// The value of a row; NaN where there is no such column.
  double value(const std::vector<double>& row, const std::string& name) const;
  /// The epochs after which the input, and with it the evaluations', was larger (train.grow).
  std::vector<double> input_growth() const;
  /// Evaluations after this epoch are of the final input size, and comparable.
  double comparable_after() const;
  /// The first of the comparable rows with the highest value in this column; nullptr where none has one.
  const std::vector<double>* best_row(const std::string& name) const;
};

/// Reads a metrics.csv. An incomplete last line (the machine died while writing it) is dropped, and with a warning the
/// rows from the first zero byte on, which is what a file system leaves of rows that were not on the disk yet. Throws
/// InputError with file:line for any other format error.
MetricsTable read_metrics_csv(const std::filesystem::path& file);

/// The totals over all rows of a run.
struct TrainingTotals {
  double epochs = 0;  ///< epochs done at the last row: 2.4 after 0.4 of the third
  double seconds = 0;
  /// Sums over the epochs whose speed is known.
  double timed_seconds = 0, images = 0;

  /// Adds a row; NaN: not measured.
  void add(double epoch, double took, double images_per_s);
};

/// The rows of a metrics.csv. A row that cannot be written is kept, and written before the next one.
class MetricsCsv {
 public:
  /// Begins a new table with the header `epoch,columns...`, which replaces an old file.
  MetricsCsv(std::filesystem::path file, const std::vector<std::string>& columns);
  /// Continues after `after_epoch`, which may lie within an epoch: rows of later epochs, which the resumed
  /// run repeats, are removed. Columns that an older version did not write are empty in the old rows. A new
  /// table when there is no file. Throws InputError when the old one has columns that are not among these.
  MetricsCsv(std::filesystem::path file, const std::vector<std::string>& columns, double after_epoch);

  /// One value per column; NaN leaves the cell empty. Written by save().
  void add(double epoch, const std::vector<double>& values);
  /// The table, written or not, as curves are drawn of it: of a long run with fewer of the rows between evaluations than
  /// there are, since a plot is narrower than that and a run's memory must not grow with its length.
  MetricsTable for_drawing() const;
  /// Sums over all rows, drawn or not.
  const TrainingTotals& totals() const { return totals_; }
  /// Writes what is not yet in the file. Throws InputError when that fails.
  void save();

 private:
  std::filesystem::path file_;
  size_t columns_;
  int seconds_, images_per_s_;  ///< indices of these columns; -1: there is none
  TrainingTotals totals_;
  /// The whole file, and how much of it has been written.
  std::string text_;
  size_t written_ = 0;
};

}  // namespace brightnet
