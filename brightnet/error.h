// The exceptions of the library. Every one has a message to show to a person: what happened, where, what to do.
//
// Functions of the library throw Error for what the caller or the environment can mend, std::bad_alloc when memory is
// exhausted, and std::logic_error for a fault of the library itself. An object whose member function threw stays usable,
// unless its header says otherwise.
#pragma once

#include <stdexcept>
#include <string>

#include "brightnet/public.h"

namespace brightnet {

/// The exit codes of the program `brightnet`; README.md documents the numbers.
enum class ExitCode : int {
  done = 0,
  internal = 1,     ///< a bug, or ranks or trials that failed
  input = 2,        ///< the user's arguments, YAML, data or weights
  device = 3,       ///< the device asked for cannot be used
  interrupted = 4,  ///< stopped by a signal, after saving
};

/// Base of all exceptions that a user can cause and fix.
class BRIGHTNET_PUBLIC Error : public std::runtime_error {
 public:
  /// `where` is "file:line", "file" or empty; `remedy` is an imperative sentence or empty. what() is all three as one
  /// paragraph.
  Error(ExitCode code, const std::string& what, const std::string& where, const std::string& remedy);
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Arguments, configurations, data or weights that cannot be used as they are.
class BRIGHTNET_PUBLIC InputError : public Error {
 public:
  explicit InputError(const std::string& what, const std::string& where = "", const std::string& remedy = "")
      : Error(ExitCode::input, what, where, remedy) {}
};

/// The device asked for cannot be used.
class BRIGHTNET_PUBLIC DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& what, const std::string& where = "", const std::string& remedy = "")
      : Error(ExitCode::device, what, where, remedy) {}
};

}  // namespace brightnet
