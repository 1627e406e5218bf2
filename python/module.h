// What the parts of the module brightnet._brightnet share (private to python/).
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <unistd.h>

#include "brightnet/detector.h"
#include "brightnet/evaluate.h"
#include "brightnet/frames.h"
#include "brightnet/train.h"

namespace brightnet::python {

namespace nb = nanobind;

/// Releases the GIL for its lifetime. Python ends a daemon thread that asks for the GIL again while the
/// interpreter finishes, by an unwinding that no destructor lets through: the process would abort. Such a
/// thread sleeps instead until the process ends, as it does from Python 3.14 on.
class __attribute__((visibility("hidden"))) ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) ::pause();
    }
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Precedes every call of the library: the calling thread computes with the processors that the process was
/// given. Throws InputError in a fork of a process that has used the library, whose threads the fork lacks.
void begin_call();
bool was_forked();

/// Stands for a call of the library: without the GIL, so that other Python threads run and the library's threads can log.
class __attribute__((visibility("hidden"))) LibraryCall {
 public:
  LibraryCall() { begin_call(); }

 private:
  ReleasedGil released_;
};

/// Destroys an object of the library without the GIL, since its threads may wait for it to log their last words. In a forked
/// process, which has no such threads, it is left alone.
struct DeleteWithoutGil {
  template <typename Object>
  void operator()(Object* object) const {
    if (was_forked()) return;
    const ReleasedGil released;
    delete object;
  }
};
template <typename Object>
using Owned = std::unique_ptr<Object, DeleteWithoutGil>;

/// Does long work on a thread of its own, while the thread that called, which has the GIL, handles Python's signals and what
/// the work asks it to do.
class CallingThread {
 public:
  /// Returns when the work has ended. `stop` is called when a signal's handler or an ask() raised, as Ctrl-C does. When
  /// the work has ended, what it threw is thrown, else what they raised.
  void run(const std::function<void()>& work, const std::function<void()>& stop);
  /// Called by the work: has `call` done on the calling thread, with the GIL, and waits for it.
  void ask(const std::function<void()>& call);

 private:
  void attend(const std::function<void()>& call, const std::function<void()>& stop);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* asked_ = nullptr;
  bool done_ = false;
  std::exception_ptr raised_;
};

/// Text for people; what of it is not UTF-8, as a file's name may be, is written as "\\xe9".
nb::str text_of(std::string_view text);

/// A path or a source as Python has it: os.fsencode() gives the same bytes again.
nb::str path_text(const std::string& path);

/// The bytes of texts in which a path may stand: os.fsencode()'s.
std::vector<std::string> bytes_of(const std::vector<nb::str>& texts);

/// The scores by the names that the JSON of `eval` has.
nb::dict dict_of(const Scores& scores);

/// An array of the values, in memory of its own.
template <typename Value>
nb::object array_of(std::vector<Value> values, std::initializer_list<size_t> shape) {
  auto kept = std::make_unique<std::vector<Value>>(std::move(values));
  const nb::capsule owner(kept.get(),
                          [](void* data) noexcept { delete static_cast<std::vector<Value>*>(data); });
  Value* const first = kept.release()->data();  // the capsule's from here on
  return nb::cast(nb::ndarray<nb::numpy, Value>(first, shape.size(), shape.begin(), owner));
}

/// Bytes that stay where they are for as long as the array, or what is made from it, lives.
nb::object array_of(const std::shared_ptr<uint8_t>& bytes, std::initializer_list<size_t> shape);

/// An image in an array of height × width or height × width × channels.
using ImageArray = nb::ndarray<const uint8_t, nb::c_contig, nb::device::cpu>;
Image image_of(const ImageArray& array, bool bgr);

void add_training(nb::module_& m);
void add_detector(nb::module_& m);
void add_data(nb::module_& m);

}  // namespace brightnet::python
