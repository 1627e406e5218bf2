#include "data/drawing/typeface.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H
#include FT_TRUETYPE_TABLES_H

#include "core/resource_folder.h"

namespace brightnet {
namespace {

/// The height of capitals over the size of the typeface, where the typeface does not state it.
constexpr double usual_capitals = 0.72;
/// The width of a character over the height of a capital when there is no typeface, so that layouts
/// still hold.
constexpr double usual_width = 0.85;

struct Face {
  FT_Face face = nullptr;
  double capitals = usual_capitals;
  /// The typeface has no bold of its own: its outlines are thickened.
  bool thicken = false;

  bool has(char32_t character) const { return face && FT_Get_Char_Index(face, character) != 0; }
};

/// Removes and returns the first character of a UTF-8 text; U+FFFD for an invalid byte.
char32_t next_character(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = byte(0) < 0x80             ? 1
                        : (byte(0) & 0xE0) == 0xC0 ? 2
                        : (byte(0) & 0xF0) == 0xE0 ? 3
                        : (byte(0) & 0xF8) == 0xF0 ? 4
                                                   : 0;
  char32_t character = length == 1 ? byte(0) : byte(0) & (0x7Fu >> length);
  bool whole = length > 0 && length <= text.size();
  for (size_t i = 1; whole && i < length; ++i) {
    whole = (byte(i) & 0xC0) == 0x80;
    character = (character << 6) | (byte(i) & 0x3Fu);
  }
  text.remove_prefix(whole ? length : 1);
  return whole ? character : 0xFFFD;
}

/// Characters that need no glyph: controls, and what only joins or directs its neighbours.
bool is_invisible(char32_t c) {
  return c < 0x20 || c == 0x7F || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F);
}

/// The typefaces of the system and of share/brightnet/fonts that were found, opened once.
class Typefaces {
 public:
  Typefaces() : config_(FcConfigCreate()) {
    // Of a system without a configuration of fonts nothing is said: those of wheels are there all the same.
    FcConfigParseAndLoad(config_, nullptr, FcFalse);
    FcConfigBuildFonts(config_);
    std::error_code failed;
    for (const auto& file : std::filesystem::directory_iterator(resource_folder() / "fonts", failed))
      FcConfigAppFontAddFile(config_, reinterpret_cast<const FcChar8*>(file.path().c_str()));
    if (FT_Init_FreeType(&library_) != 0) return;
    regular_ = find(0, false);
    bold_ = find(0, true);
  }

  const Face& main(bool bold) const { return bold && bold_.face ? bold_ : regular_; }

  /// The typeface that draws a character; the main one where none has it.
  const Face& face_for(char32_t character, bool bold) {
    const Face& first = main(bold);
    if (!first.face || first.has(character)) return first;
    const auto key = std::pair(character, bold);
    auto known = others_.find(key);
    if (known == others_.end()) known = others_.emplace(key, find(character, bold)).first;
    return known->second.has(character) ? known->second : first;
  }

 private:
  /// The best installed typeface; with `character`, among those that have it.
  Face find(char32_t character, bool bold) {
    Face found;
    FcPattern* wish = FcPatternCreate();
    FcPatternAddString(wish, FC_FAMILY, reinterpret_cast<const FcChar8*>("DejaVu Sans"));
    FcPatternAddString(wish, FC_FAMILY, reinterpret_cast<const FcChar8*>("sans-serif"));
    FcPatternAddInteger(wish, FC_WEIGHT, bold ? FC_WEIGHT_BOLD : FC_WEIGHT_REGULAR);
    FcPatternAddBool(wish, FC_SCALABLE, FcTrue);
    if (character != 0) {
      FcCharSet* characters = FcCharSetCreate();
      FcCharSetAddChar(characters, character);
      FcPatternAddCharSet(wish, FC_CHARSET, characters);
      FcCharSetDestroy(characters);
    }
    FcConfigSubstitute(config_, wish, FcMatchPattern);
    FcDefaultSubstitute(wish);
    FcResult result{};
    if (FcPattern* match = FcFontMatch(config_, wish, &result)) {
      FcChar8* file = nullptr;
      int index = 0, weight = FC_WEIGHT_REGULAR;
      FcPatternGetInteger(match, FC_INDEX, 0, &index);
      FcPatternGetInteger(match, FC_WEIGHT, 0, &weight);
      if (FcPatternGetString(match, FC_FILE, 0, &file) == FcResultMatch)
        found = open(reinterpret_cast<const char*>(file), index);
      found.thicken = bold && weight < FC_WEIGHT_DEMIBOLD;
      FcPatternDestroy(match);
    }
    FcPatternDestroy(wish);
    return found;
  }

  Face open(const std::string& file, int index) {
    const auto [place, is_new] = opened_.try_emplace({file, index});
    Face& face = place->second;
    if (!is_new) return face;
    if (FT_New_Face(library_, file.c_str(), index, &face.face) != 0 || !FT_IS_SCALABLE(face.face)) {
      face.face = nullptr;
      return face;
    }
    const auto* os2 = static_cast<const TT_OS2*>(FT_Get_Sfnt_Table(face.face, FT_SFNT_OS2));
    if (os2 && os2->version >= 2 && os2->version != 0xFFFF && os2->sCapHeight > 0)
      face.capitals = static_cast<double>(os2->sCapHeight) / face.face->units_per_EM;
    return face;
  }

  FcConfig* config_;
  FT_Library library_ = nullptr;
  Face regular_, bold_;
  std::map<std::pair<std::string, int>, Face> opened_;
  std::map<std::pair<char32_t, bool>, Face> others_;
};

/// Guards FreeType's faces, which serve one thread at a time. They are kept until the program ends.
std::mutex mutex;
Typefaces& typefaces() {
  static Typefaces* const all = new Typefaces;
  return *all;
}

/// The place of a glyph in its line.
struct Glyph {
  const Face* face;
  FT_UInt index;
  double x;
};

/// A line of text, set in glyphs.
struct Line {
  std::vector<Glyph> glyphs;
  double width = 0;
  /// The size of the typefaces, in pixels.
  double size = 0;
};

/// Sets the size of a typeface, where it has another: after each setting the hinter measures the typeface anew.
void set_size(const Face& face, double size) {
  static std::map<FT_Face, FT_F26Dot6> sizes;
  const auto wanted = static_cast<FT_F26Dot6>(std::lround(size * 64));
  FT_F26Dot6& current = sizes[face.face];
  if (current != wanted && FT_Set_Char_Size(face.face, 0, wanted, 72, 72) == 0) current = wanted;
}

/// Plots and pictures repeat their words, and to measure and paint them was a fifth of a report's time: what was made is kept, up
/// to so many, then begun anew.
template <typename Key, typename Value>
class Made {
 public:
  template <typename Make>
  const Value& get(const Key& key, const Make& make) {
    constexpr size_t most = 4096;
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
    if (values_.size() >= most) values_.clear();
    return values_.emplace(key, make()).first->second;
  }

 private:
  std::map<Key, Value> values_;
};

Line made_line(std::string_view words, double height, bool bold) {
  Typefaces& all = typefaces();
  const Face& first = all.main(bold);
  Line line;
  line.size = height / first.capitals;
  const Glyph* before = nullptr;
  while (!words.empty()) {
    const char32_t character = next_character(words);
    if (is_invisible(character)) continue;
    const Face& face = all.face_for(character, bold);
    if (!face.face) {
      line.width += usual_width * height;
      continue;
    }
    set_size(face, line.size);
    const FT_UInt index = FT_Get_Char_Index(face.face, character);
    FT_Vector kerning{};
    if (before && before->face == &face &&
        FT_Get_Kerning(face.face, before->index, index, FT_KERNING_UNFITTED, &kerning) == 0)
      line.width += static_cast<double>(kerning.x) / 64;
    if (FT_Load_Glyph(face.face, index, FT_LOAD_NO_BITMAP | FT_LOAD_TARGET_LIGHT) != 0) continue;
    line.glyphs.push_back({&face, index, line.width});
    before = &line.glyphs.back();
    line.width += static_cast<double>(face.face->glyph->linearHoriAdvance) / 65536;
  }
  return line;
}

const Line& set_line(std::string_view words, double height, bool bold) {
  static Made<std::tuple<std::string, double, bool>, Line> lines;
  return lines.get({std::string(words), height, bold}, [&] { return made_line(words, height, bold); });
}

/// How much a glyph covers each pixel of a rectangle, whose corner is relative to a whole pixel of the baseline.
struct PaintedGlyph {
  cv::Point corner;
  cv::Mat1b cover;
};

/// `fraction`: of a pixel, in 64ths, by which the glyph begins to the right of a whole one.
PaintedGlyph made_glyph(const Face& face, FT_UInt index, double size, FT_Pos fraction) {
  set_size(face, size);
  FT_GlyphSlot slot = face.face->glyph;
  if (FT_Load_Glyph(face.face, index, FT_LOAD_NO_BITMAP | FT_LOAD_TARGET_LIGHT) != 0) return {};
  if (slot->format != FT_GLYPH_FORMAT_OUTLINE) return {};
  if (face.thicken) FT_Outline_Embolden(&slot->outline, static_cast<FT_Pos>(std::lround(size * 64 / 24)));
  FT_Outline_Translate(&slot->outline, fraction, 0);
  if (FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL) != 0 || !slot->bitmap.buffer) return {};
  const cv::Mat1b lent(static_cast<int>(slot->bitmap.rows), static_cast<int>(slot->bitmap.width),
                       slot->bitmap.buffer, static_cast<size_t>(slot->bitmap.pitch));
  return {{slot->bitmap_left, -slot->bitmap_top}, lent.clone()};
}

const PaintedGlyph& painted(const Glyph& glyph, double size, FT_Pos fraction) {
  static Made<std::tuple<const Face*, FT_UInt, double, FT_Pos>, PaintedGlyph> glyphs;
  return glyphs.get({glyph.face, glyph.index, size, fraction},
                    [&] { return made_glyph(*glyph.face, glyph.index, size, fraction); });
}

/// Mixes the colour into the pixels, as much as the glyph covers each.
void blend(cv::Mat& rgb, const cv::Mat1b& covers, cv::Point corner, const cv::Scalar& color) {
  const cv::Rect inside = cv::Rect(corner, covers.size()) & cv::Rect(0, 0, rgb.cols, rgb.rows);
  for (int y = inside.y; y < inside.y + inside.height; ++y) {
    const uint8_t* cover = covers.ptr(y - corner.y);
    auto* pixels = rgb.ptr<cv::Vec3b>(y);
    for (int x = inside.x; x < inside.x + inside.width; ++x) {
      const double share = cover[x - corner.x] / 255.0;
      for (int c = 0; c < 3; ++c) {
        uchar& value = pixels[x][c];
        value = cv::saturate_cast<uchar>(value + share * (color[c] - value));
      }
    }
  }
}

std::optional<std::string> without_last_character(const std::string& text) {
  size_t end = text.size();
  while (end > 0 && (static_cast<uint8_t>(text[end - 1]) & 0xC0) == 0x80) --end;
  if (end == 0) return std::nullopt;
  return text.substr(0, end - 1);
}

bool has_letters(std::string_view words, bool bold = false) {
  const std::scoped_lock lock(mutex);
  while (!words.empty()) {
    const char32_t character = next_character(words);
    if (!is_invisible(character) && !typefaces().face_for(character, bold).has(character)) return false;
  }
  return true;
}

bool any_typeface() {
  const std::scoped_lock lock(mutex);
  return typefaces().main(false).face != nullptr;
}

}  // namespace

double text_width(std::string_view words, double height, bool bold) {
  const std::scoped_lock lock(mutex);
  return set_line(words, height, bold).width;
}

void draw_text(cv::Mat& rgb, std::string_view words, cv::Point2d left, double height, const cv::Scalar& color,
               bool bold) {
  const std::scoped_lock lock(mutex);
  const Line& line = set_line(words, height, bold);
  // The baseline lies on a whole pixel, as the hinted glyphs do.
  const int baseline = static_cast<int>(std::lround(left.y + height / 2));
  for (const Glyph& glyph : line.glyphs) {
    const double x = left.x + glyph.x, whole = std::floor(x);
    const PaintedGlyph& shape = painted(glyph, line.size, static_cast<FT_Pos>(std::lround((x - whole) * 64)));
    blend(rgb, shape.cover, shape.corner + cv::Point(static_cast<int>(whole), baseline), color);
  }
}

std::string shortened(const std::string& words, double width, double height, bool bold) {
  if (text_width(words, height, bold) <= width) return words;
  std::string text = words;
  while (const auto shorter = without_last_character(text)) {
    text = *shorter;
    if (text_width(text + "…", height, bold) <= width) break;
  }
  return text + "…";
}

std::string shown_name(const std::string& name, int class_id) {
  return !any_typeface() || has_letters(name) ? name : fmt::format("class {}", class_id);
}

std::string typeface_problem(const std::vector<std::string>& names) {
  if (!any_typeface()) {
    return "No typeface is installed: pictures are drawn without any words. Install one, such as Debian's "
           "fonts-dejavu-core.";
  }
  constexpr int named = 3;
  int count = 0;
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (has_letters(names[i]) || ++count > named) continue;
    list += fmt::format("{}'{}' is class {}", list.empty() ? "" : ", ", names[i], i);
  }
  if (count == 0) return "";
  const std::string more = count > named ? fmt::format(" and {} more", count - named) : "";
  return "No installed typeface has the letters of some classes, which pictures number: " + list + more +
         ". Install one that does, such as Debian's fonts-droid-fallback or fonts-noto-core.";
}

}  // namespace brightnet
