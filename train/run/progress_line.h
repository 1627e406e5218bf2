// What a person sees of a run: on a terminal one line that is rewritten in place, elsewhere a plain line now
// and then.
#pragma once

#include <chrono>
#include <string>

namespace brightnet {

class ProgressLine {
 public:
  /// `every`: seconds between plain lines. A line is rewritten where standard error is a terminal that can do
  /// so ($TERM is neither unset nor "dumb").
  explicit ProgressLine(double every);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether it is time to show another line; asked first, so that the others need not be composed.
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
