// The library's messages. Where they go is for the program that uses it to say; without a sink, nowhere. A run's train.log
// has them as well.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "brightnet/public.h"

namespace brightnet {

enum class LogLevel : uint8_t { info, warning, error };

/// Receives one message at a time, without a line's end, from any thread. It must not call the library.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Sends all messages of the process to `sink` from now on, or nowhere if it is empty. Returns the sink until now. Safe
/// from any thread.
BRIGHTNET_PUBLIC LogSink set_log_sink(LogSink sink);

/// A sink that prints every message on standard error, a line each, in the place of a progress line that is being
/// rewritten there.
BRIGHTNET_PUBLIC LogSink standard_error_sink();

}  // namespace brightnet
