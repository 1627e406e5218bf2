// What the engine logs while an object of this class lives.
#pragma once

#include <string>
#include <string_view>

#include "core/log.h"

namespace brightnet::testing {

class Logged {
 public:
  Logged()
      : before_(set_log_sink([this](LogLevel, std::string_view message) { (text_ += message) += '\n'; })) {}
  ~Logged() { set_log_sink(before_); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;

  /// All messages so far, a line each.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  LogSink before_;
};

}  // namespace brightnet::testing
