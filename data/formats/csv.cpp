// CSV: a table with one object a line, as Roboflow and the tools of TensorFlow's object detection export it,
//
//   filename,width,height,class,xmin,ymin,xmax,ymax
//
// in pixels from 0, by corners. The columns are found by their names, in any order and case; others are ignored, and
// width and height may be missing. A header without a comma may have semicolons between its names, as spreadsheets write
// in many languages; so have the lines then. An image with several objects has several lines; a line whose class and
// corners are empty is an image without objects. A field in double quotes may hold commas ("" stands for ").
//
// data.train, data.val or data.test is the file; images lie beside it, or in a folder of image_folders(): train_labels.csv
// often lies above train/, or in annotations/ beside images/. Without data.classes the classes are
// all names in train and val, sorted.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/json_file.h"
#include "data/formats/labels.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

/// The lines of a file by the names of its columns.
class Table {
 public:
  struct Row {
    std::vector<std::string> fields;
    std::string where;  // "file:line"
  };

  /// A line with another number of fields than the header has is a problem and no row.
  Table(const fs::path& file, ProblemLog& log) {
    const std::vector<TextLine> lines = read_lines(file, most_list_bytes);
    if (lines.empty()) throw InputError("this file is empty", file.string(), needed);
    const std::string& first = lines[0].text;
    const char separator =
        first.find(',') == std::string::npos && first.find(';') != std::string::npos ? ';' : ',';
    for (const std::string& name : csv_fields(first, separator).value_or(std::vector<std::string>()))
      header_.push_back(lower_case(name));
    for (const char* column : {"filename", "class", "xmin", "ymin", "xmax", "ymax"}) {
      if (has(column)) continue;
      throw InputError(fmt::format("there is no column '{}' in the header '{}'", column, first),
                       at_line(file, lines[0].number), needed);
    }
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::string where = at_line(file, lines[i].number);
      auto fields = csv_fields(lines[i].text, separator);
      if (fields && fields->size() == header_.size()) {
        rows_.push_back({std::move(*fields), where});
      } else {
        log.add(Kind::malformed_label, where,
                fields ? fmt::format("this line has {}, and the header {}",
                                     counted(fields->size(), "field", "fields"), header_.size())
                       : "a quote in this line has no end",
                fmt::format("Put a field with a {} in it into double quotes.",
                            separator == ';' ? "semicolon" : "comma"));
      }
    }
  }

  const std::vector<Row>& rows() const { return rows_; }
  bool has(const std::string& column) const { return place(column) < header_.size(); }
  const std::string& field(const Row& row, const std::string& column) const {
    return row.fields[place(column)];
  }

 private:
  static constexpr const char* needed =
      "The first line names the columns: filename,width,height,class,xmin,ymin,xmax,ymax";
  size_t place(const std::string& column) const {
    return std::find(header_.begin(), header_.end(), column) - header_.begin();
  }

  std::vector<std::string> header_;
  std::vector<Row> rows_;
};

/// The files that a table names, which are in the first of the folders that has them. A file may have several spellings, as in
/// tables of a Windows and a Linux user that were joined.
class NamedFiles {
 public:
  explicit NamedFiles(std::vector<fs::path> folders) : folders_(std::move(folders)) {}

  const std::string& of(const std::string& name) {
    const auto [at, added] = files_.try_emplace(name);
    if (added) at->second = find_below(name, folders_).string();
    return at->second;
  }

 private:
  std::vector<fs::path> folders_;
  std::unordered_map<std::string, std::string> files_;
};

/// The images of a table with their boxes.
class TableReader {
 public:
  TableReader(const Table& table, NamedFiles files, ProblemLog& log) : files_(std::move(files)) {
    for (const Table::Row& row : table.rows()) read_row(table, row, log);
  }

  std::vector<LabelledImage> take() { return std::move(images_); }

 private:
  void read_row(const Table& table, const Table::Row& row, ProblemLog& log) {
    const std::string& name = table.field(row, "filename");
    if (name.empty()) {
      log.add(Kind::malformed_label, row.where, "this line has no filename");
      return;
    }
    const std::string& file = files_.of(name);
    const auto [at, added] = by_file_.try_emplace(file, images_.size());
    if (added) {
      LabelledImage image;
      image.file = file;
      image.listed = name;
      if (table.has("width") && table.has("height")) {
        const auto side = [&](const char* column) {
          return parse_number(table.field(row, column)).value_or(0);
        };
        image.declared = json_size(side("width"), side("height"));
      }
      images_.push_back(std::move(image));
    }
    if (auto box = parse_box(table, row, log)) images_[at->second].boxes.push_back(std::move(*box));
  }

  std::optional<LabelledBox> parse_box(const Table& table, const Table::Row& row, ProblemLog& log) const {
    constexpr std::array columns{"xmin", "ymin", "xmax", "ymax"};
    const std::string& name = table.field(row, "class");
    const bool no_corners = std::all_of(columns.begin(), columns.end(),
                                        [&](const char* column) { return table.field(row, column).empty(); });
    if (name.empty() && no_corners) return std::nullopt;
    if (name.empty()) {
      log.add(Kind::malformed_label, row.where, "this line has a box and no class");
      return std::nullopt;
    }
    std::array<double, columns.size()> corners{};
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto value = parse_number(table.field(row, columns[i]));
      if (!value) {
        log.add(Kind::malformed_label, row.where,
                fmt::format("'{}' is '{}' and must be a number", columns[i], table.field(row, columns[i])),
                "Leave class and corners empty for an image without objects.");
        return std::nullopt;
      }
      corners[i] = *value;
    }
    LabelledBox box;
    box.class_name = name;
    box.where = row.where;
    box.set_corners(corners[0], corners[1], corners[2], corners[3]);
    return box;
  }

  NamedFiles files_;
  std::vector<LabelledImage> images_;
  std::unordered_map<std::string, size_t> by_file_;
};

constexpr const char* table_file = "the file with the table";

std::unique_ptr<LabelSource> open_csv(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path file = split_file(options, split, table_file);
  const Table table(file, log);
  return std::make_unique<LabelsInMemory>(
      TableReader(table, NamedFiles(image_folders(file, options.root, split)), log).take());
}

/// The lines of a split's table by image. The first column becomes `path`, of an image listed as `name`.
class ImageRows {
 public:
  ImageRows(const DataOptions& options, Split split)
      : ImageRows(options, split, split_file(options, split, table_file)) {}

  std::string lines(const std::string& name, const std::string& path) {
    std::string text;
    for (const Table::Row* row : rows_.at(files_.of(name))) {
      text += csv_quoted(path);
      for (const char* column : {"width", "height", "class", "xmin", "ymin", "xmax", "ymax"})
        text += ',' + (table_.has(column) ? csv_quoted(table_.field(*row, column)) : std::string());
      text += '\n';
    }
    return text;
  }

 private:
  ImageRows(const DataOptions& options, Split split, const fs::path& file)
      : table_(file, problems_), files_(image_folders(file, options.root, split)) {
    for (const Table::Row& row : table_.rows())
      rows_[files_.of(table_.field(row, "filename"))].push_back(&row);
  }

  ProblemLog problems_{true};  // reported when the split was read
  Table table_;
  NamedFiles files_;
  std::unordered_map<std::string, std::vector<const Table::Row*>> rows_;  ///< by the file
};

void write_csv(const DataOptions& options, const std::vector<DataPart>& parts) {
  std::map<Split, ImageRows> tables;
  for (const DataPart& part : parts) {
    std::string text = "filename,width,height,class,xmin,ymin,xmax,ymax\n";
    for (const auto& [split, images] : part.images) {
      ImageRows& rows = tables.try_emplace(split, options, split).first->second;
      for (const ImageRecord* image : images)
        text += rows.lines(image->listed, fs::absolute(image->file).lexically_normal().string());
    }
    write_atomically(part.file, text);
  }
}

bool is_table(const fs::path& file) {
  std::ifstream in = open_regular(file);
  std::string header;
  if (!has_extension(file, ".csv") || !std::getline(in, header)) return false;
  header = lower_case(header);
  const auto has = [&](const char* column) { return header.find(column) != std::string::npos; };
  return has("filename") && has("class") && has("xmin");
}

std::string recognize_csv(const fs::path& place, DataOptions& options) {
  if (is_table(place)) {
    const fs::path folder = place.parent_path();
    const auto& names = split_names(Split::train);
    const bool of_split = std::find(names.begin(), names.end(), folder.filename()) != names.end();
    take_file(of_split ? folder.parent_path() : folder, place, options);
    return "a CSV table";
  }
  std::vector<std::string> files;
  for (const std::string& name : split_names(Split::train)) files.push_back(name + "/_annotations.csv");
  for (const char* folder : {"", "annotations/", "images/", "data/"}) {
    for (const char* name : {"train.csv", "train_labels.csv"}) files.push_back(std::string(folder) + name);
  }
  files.emplace_back("_annotations.csv");
  for (const std::string& file : files) {
    if (!is_table(place / file)) continue;
    take_file(place, place / file, options);
    return "a folder with CSV tables";
  }
  return "";
}

}  // namespace

DatasetFormat csv_format() {
  return {
      .name = "csv",
      .open = open_csv,
      .written_extension = ".csv",
      .write_parts = write_csv,
      .recognize = recognize_csv,
      .recognized_by = "a .csv with filename, class, xmin, ymin, xmax and ymax, or a folder with train.csv"};
}

}  // namespace brightnet
