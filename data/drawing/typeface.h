// Text in pictures: UTF-8 in the system's outline typefaces, anti-aliased. fontconfig finds a typeface
// (DejaVu Sans where it is installed, and another one for characters that it lacks), FreeType draws it.
// Without any typeface nothing is drawn. Characters are set one after the other from left to right: scripts
// that join or reorder letters are legible, not well set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <opencv2/core.hpp>

namespace brightnet {

/// The width in pixels of a line of text whose capital letters are `height` pixels high.
double text_width(std::string_view words, double height, bool bold = false);

/// Draws a line of text on an 8-bit RGB image, cut at its border. `left` is the middle of the left edge of a
/// capital letter there.
void draw_text(cv::Mat& rgb, std::string_view words, cv::Point2d left, double height, const cv::Scalar& color,
               bool bold = false);

/// The words, shortened and ending in "…" where they are wider than `width`.
std::string shortened(const std::string& words, double width, double height, bool bold = false);

/// The name, or "class 3" where no installed typeface has its characters.
std::string shown_name(const std::string& name, int class_id);

/// A sentence about the names that pictures cannot show, or about there being no typeface at all, with the
/// remedy; empty when all is well.
std::string typeface_problem(const std::vector<std::string>& names);

}  // namespace brightnet
