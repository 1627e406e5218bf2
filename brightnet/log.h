// The library's messages. Where they go is for the program that uses it to say; without a sink, nowhere. A run's train.log
// has them as well.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "brightnet/public.h"

namespace brightnet {

/// result: what the caller asked for, such as scores, detections and the names of files written; info: how it comes about.
enum class LogLevel : uint8_t { result, info, warning, error };

/// Receives one message at a time, without a line's end, from any thread. It must not call the library.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Sends all messages of the process to `sink` from now on, or nowhere if it is empty. Returns the sink until now. Safe
/// from any thread.
BRIGHTNET_PUBLIC LogSink set_log_sink(LogSink sink);

/// The stream for the results of standard_sink(): standard error, as for all else, where standard output is for JSON.
enum class ResultsGo : uint8_t { to_standard_output, to_standard_error };

/// A sink that prints a line a message, in the place of a progress line that is being rewritten: results on standard
/// output, everything else on standard error.
BRIGHTNET_PUBLIC LogSink standard_sink(ResultsGo results = ResultsGo::to_standard_output);

}  // namespace brightnet
