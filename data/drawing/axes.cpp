#include "data/drawing/axes.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace brightnet {

Axis Axis::linear(double low, double high, int count) {
  if (!(high > low)) {
    const double room = high == 0 ? 1 : std::abs(high) * 0.1;
    low -= room;
    high += room;
  }
  Axis axis;
  axis.ticks = round_ticks(low, high, count);
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  axis.step = axis.ticks[1] - axis.ticks[0];
  return axis;
}

Axis Axis::log(double low, double high) {
  Axis axis;
  axis.logarithmic = true;
  const bool only_powers = high / low > 1000;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high * 10; power *= 10) {
    for (double factor : {1.0, 2.0, 5.0}) {
      if (factor == 1 || !only_powers) axis.ticks.push_back(power * factor);
    }
  }
  while (axis.ticks.size() > 2 && axis.ticks[1] <= low) axis.ticks.erase(axis.ticks.begin());
  while (axis.ticks.size() > 2 && axis.ticks[axis.ticks.size() - 2] >= high) axis.ticks.pop_back();
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  return axis;
}

std::string Axis::label(double tick) const {
  return logarithmic ? fmt::format("{:g}", tick) : tick_label(tick, step);
}

double Axis::place(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  return std::log(std::max(value, low) / low) / std::log(high / low);
}

cv::Point2d Plot::at(double px, double py) const {
  return {area.x + x.place(px) * area.width, area.y + (1 - y.place(py)) * area.height};
}

void Plot::draw_grid(double letters) const {
  for (double tick : x.ticks) {
    const cv::Point2d foot = at(tick, y.low);
    canvas.line(foot, {foot.x, area.y}, faint, 1);
    canvas.line(foot, {foot.x, foot.y + 4}, gray, 1);
    canvas.text(x.label(tick), {foot.x, foot.y + 6 + letters}, letters, ink, Align::center);
  }
  for (double tick : y.ticks) {
    const cv::Point2d foot = at(x.low, tick);
    canvas.line(foot, {area.x + area.width, foot.y}, faint, 1);
    canvas.line(foot, {foot.x - 4, foot.y}, gray, 1);
    canvas.text(y.label(tick), {foot.x - 8, foot.y}, letters, ink, Align::right);
  }
  canvas.line({area.x, area.y}, {area.x, area.y + area.height}, gray, 1);
  canvas.line({area.x, area.y + area.height}, area.br(), gray, 1);
}

}  // namespace brightnet
