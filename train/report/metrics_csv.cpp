#include "train/report/metrics_csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/text.h"

namespace brightnet {
namespace {

std::string header_line(const std::vector<std::string>& columns) {
  std::string line = "epoch";
  for (const std::string& column : columns) {
    BRIGHTNET_CHECK(column.find_first_of("\r\n") == std::string::npos, "a column's name has a line break");
    line += ',' + csv_quoted(column);
  }
  return line + '\n';
}

std::string row_line(double epoch, std::span<const double> values) {
  std::string line = fmt::format("{:.9g}", epoch);
  for (double value : values) line += std::isnan(value) ? "," : fmt::format(",{:.7g}", value);
  return line + '\n';
}

double parse_cell(const std::string& cell, const std::string& where) {
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const char* const end = cell.data() + cell.size();
  // Unlike parse_number() it reads "inf" and "nan" too.
  if (const auto read = std::from_chars(cell.data(), end, value); read.ec != std::errc() || read.ptr != end)
    throw InputError("'" + cell + "' is not a number", where);
  return value;
}

int index_of(const std::vector<std::string>& columns, const std::string& name) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
}

/// Keeps, of more than `most` rows, every second, third, …, those with an evaluation, and the last.
MetricsTable parse(std::string_view text, const std::string& file,
                   int64_t most = std::numeric_limits<int64_t>::max()) {
  const int64_t every = 1 + std::count(text.begin(), text.end(), '\n') / most;
  MetricsTable table;
  int AP = -1;
  int64_t number = 0;
  for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string_view::npos; at = end + 1) {
    ++number;
    const std::string line(text.substr(at, end - at));
    const std::string where = file + ":" + std::to_string(number);
    const auto fields = csv_fields(line);
    if (!fields) throw InputError("a quote in this line has no end", where);
    const std::vector<std::string>& cells = *fields;
    if (number == 1) {
      table.columns = cells;
      AP = table.column("AP");
      continue;
    }
    if (cells.size() != table.columns.size()) {
      throw InputError(fmt::format("a row has {} cells, the header {}", cells.size(), table.columns.size()),
                       where);
    }
    std::vector<double>& row = table.rows.emplace_back();
    row.reserve(cells.size());
    for (const std::string& cell : cells) row.push_back(parse_cell(cell, where));
    const bool kept = number % every == 0 || end == text.rfind('\n');
    if (!kept && (AP < 0 || std::isnan(row[AP]))) table.rows.pop_back();
  }
  if (table.columns.empty() || table.columns[0] != "epoch") {
    throw InputError("not a table of metrics: its first column is not 'epoch'", file);
  }
  return table;
}

}  // namespace

int MetricsTable::column(const std::string& name) const {
  return index_of(columns, name);
}

double MetricsTable::value(const std::vector<double>& row, const std::string& name) const {
  const int at = column(name);
  return at < 0 ? std::nan("") : row[at];
}

std::vector<double> MetricsTable::input_growth() const {
  std::vector<double> epochs;
  const int height = column("input_height");
  for (size_t i = 1; height >= 0 && i < rows.size(); ++i) {
    const auto at = static_cast<size_t>(height);
    if (rows[i][at] > rows[i - 1][at]) epochs.push_back(rows[i - 1][0]);
  }
  return epochs;
}

double MetricsTable::comparable_after() const {
  const std::vector<double> grew = input_growth();
  return grew.empty() ? -1 : grew.back();
}

const std::vector<double>* MetricsTable::best_row(const std::string& name) const {
  const int at = column(name);
  const double after = comparable_after();
  const std::vector<double>* best = nullptr;
  for (const auto& row : rows) {
    if (at < 0 || !std::isfinite(row[at]) || row[0] <= after) continue;
    if (!best || row[at] > (*best)[at]) best = &row;
  }
  return best;
}

void TrainingTotals::add(double epoch, double took, double images_per_s) {
  epochs = epoch;
  if (std::isnan(took)) return;
  seconds += took;
  if (std::isnan(images_per_s)) return;
  timed_seconds += took;
  images += images_per_s * took;
}

MetricsTable read_metrics_csv(const std::filesystem::path& file) {
  std::string text = read_file(file, most_list_bytes);
  if (const size_t torn = text.find('\0'); torn != std::string::npos) {
    text.resize(torn);
    log::warn(
        "{}: the rows from line {} on are zeros: the machine stopped before they were on the disk. They are left out.",
        file.string(), 1 + std::count(text.begin(), text.end(), '\n'));
  }
  return parse(text, file.string());
}

MetricsCsv::MetricsCsv(std::filesystem::path file, const std::vector<std::string>& columns)
    : file_(std::move(file)),
      columns_(columns.size()),
      seconds_(index_of(columns, "seconds")),
      images_per_s_(index_of(columns, "images_per_s")),
      text_(header_line(columns)) {}

MetricsCsv::MetricsCsv(std::filesystem::path file, const std::vector<std::string>& columns,
                       double after_epoch)
    : MetricsCsv(std::move(file), columns) {
  if (!std::filesystem::exists(file_)) return;
  const MetricsTable old = read_metrics_csv(file_);
  for (size_t i = 1; i < old.columns.size(); ++i) {
    if (std::find(columns.begin(), columns.end(), old.columns[i]) != columns.end()) continue;
    throw InputError(
        "the run's table of metrics has a column '" + old.columns[i] + "', which this version does not write",
        file_.string(), "Move the file away to start a new table.");
  }
  for (const std::vector<double>& row : old.rows) {
    if (row[0] > after_epoch + epoch_rounding) continue;
    std::vector<double> values;
    for (const std::string& column : columns) {
      const int at = old.column(column);
      values.push_back(at < 0 ? std::numeric_limits<double>::quiet_NaN() : row[at]);
    }
    add(row[0], values);
  }
}

void MetricsCsv::add(double epoch, const std::vector<double>& values) {
  BRIGHTNET_CHECK(values.size() == columns_, "a row of metrics has another length than its header");
  text_ += row_line(epoch, values);
  const auto value = [&](int column) { return column < 0 ? std::nan("") : values[column]; };
  totals_.add(epoch, value(seconds_), value(images_per_s_));
}

MetricsTable MetricsCsv::for_drawing() const {
  constexpr int64_t most = 4096;
  return parse(text_, file_.string(), most);
}

void MetricsCsv::save() {
  // Appended, so that `tail -f` shows the rows; written anew where it was never written or has vanished.
  std::error_code none;
  if (written_ > 0 && std::filesystem::exists(file_, none)) {
    append_to_file(file_, std::string_view(text_).substr(written_));
  } else {
    write_atomically(file_, text_);
  }
  written_ = text_.size();
}

}  // namespace brightnet
