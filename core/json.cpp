#include "core/json.h"

#include <charconv>

namespace brightnet {

std::string to_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string written_text(const std::string& text) {
  return Json::parse(to_line(Json(text))).get<std::string>();
}

double shortest(float value) {
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof(digits), value);
  double result = 0;
  std::from_chars(digits, written.ptr, result);
  return result;
}

}  // namespace brightnet
