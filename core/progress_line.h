// A run's progress output: on a terminal one line rewritten in place, elsewhere a log line at intervals.
#pragma once

#include <chrono>
#include <string>

namespace brightnet {

class ProgressLine {
 public:
  /// `every`: seconds between log lines. The line is rewritten in place if messages go to standard error and that is a
  /// terminal that supports it ($TERM is neither unset nor "dumb").
  explicit ProgressLine(double every);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether the next line is due; check before composing one.
  bool due() const;
  void show(const std::string& line);
  /// Erases the rewritten line, so that other output can follow. Messages to standard_sink() (core/log.h) and what is
  /// written through PrintableOutput do it themselves. A signal handler may call it.
  static void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  Clock::duration every_;
  Clock::time_point shown_;
};

/// A duration as "1:02:03" or "2:03".
std::string format_seconds(double seconds);

}  // namespace brightnet
