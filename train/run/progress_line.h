// What a person sees of a run: one line rewritten in place on a terminal, a plain line now and then
// elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace brightnet {

class ProgressLine {
 public:
  /// `every`: seconds between plain lines. Whether standard error is a terminal that can
  /// rewrite a line ($TERM is neither unset nor "dumb") decides between the two.
  explicit ProgressLine(double every);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// True when the line should be made: making it costs more than not showing it.
  bool due() const;
  void show(const std::string& line);
  /// Ends the rewritten line, so that other output can follow.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  Clock::duration every_;
  Clock::time_point shown_;
  bool open_ = false;
};

/// "1:02:03" or "2:03".
std::string format_seconds(double seconds);

}  // namespace brightnet
