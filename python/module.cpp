// The module brightnet._brightnet: the public headers in Python. What people call stands in python/brightnet/, which gives
// these functions their defaults and documentation.
#include "python/module.h"

#include <chrono>
#include <thread>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "brightnet/configuration.h"
#include "brightnet/error.h"
#include "brightnet/export.h"
#include "brightnet/log.h"
#include "brightnet/memory.h"
#include "brightnet/models.h"
#include "brightnet/prune.h"
#include "brightnet/threads.h"

namespace brightnet::python {
namespace {

/// The first process that called the library.
std::atomic<pid_t> user = 0;

/// Python's numbers for levels.
int number_of(LogLevel level) {
  switch (level) {
    case LogLevel::result:
    case LogLevel::info: return 20;
    case LogLevel::warning: return 30;
    case LogLevel::error: return 40;
  }
  return 40;
}

/// Sends messages to handler(level, message), or nowhere when it is None.
void set_log_handler(const nb::object& handler) {
  LogSink sink;
  if (!handler.is_none()) {
    // Lives until the process ends: a thread may log at any time.
    PyObject* const kept = nb::object(handler).release().ptr();
    sink = [kept](LogLevel level, std::string_view message) {
      const nb::gil_scoped_acquire gil;
      try {
        nb::handle{kept}(number_of(level), text_of(message));
      } catch (nb::python_error& error) {
        if (error.matches(PyExc_KeyboardInterrupt))
          PyErr_SetInterrupt();  // is raised where somebody can take it
        else
          error.discard_as_unraisable("a handler of brightnet's messages");
      }
    };
  }
  const ReleasedGil released;
  set_log_sink(std::move(sink));
}

/// The classes of the library's exceptions in Python; they live as long as the module.
struct ErrorClasses {
  PyObject *any = nullptr, *input = nullptr, *device = nullptr;
};
ErrorClasses error_classes;

/// nanobind's own translation would make a UnicodeDecodeError of a message about a file whose name is not UTF-8.
void raise(const std::exception_ptr& thrown, void*) {
  const auto raise_as = [](PyObject* kind, const Error& error) {
    PyErr_SetObject(kind, text_of(error.what()).ptr());
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    raise_as(error_classes.input, error);
  } catch (const DeviceError& error) {
    raise_as(error_classes.device, error);
  } catch (const Error& error) {
    raise_as(error_classes.any, error);
  }
}

nb::str stolen(PyObject* made) {
  if (!made) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

}  // namespace

nb::str text_of(std::string_view text) {
  return stolen(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

nb::str path_text(const std::string& path) {
  return stolen(PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

std::vector<std::string> bytes_of(const std::vector<nb::str>& texts) {
  std::vector<std::string> all;
  for (const nb::str& text : texts) {
    PyObject* const made = PyUnicode_EncodeFSDefault(text.ptr());
    if (!made) throw nb::python_error();
    const auto bytes = nb::steal<nb::bytes>(made);
    all.emplace_back(bytes.c_str(), bytes.size());
  }
  return all;
}

bool was_forked() {
  const pid_t known = user;
  return known != 0 && known != ::getpid();
}

void begin_call() {
  thread_local const bool limited = [] {
    limit_openmp_threads();
    return true;
  }();
  static_cast<void>(limited);
  pid_t nobody = 0;
  user.compare_exchange_strong(nobody, ::getpid());
  if (!was_forked()) return;
  throw InputError(
      "brightnet was used in the process that this one was forked from, and its threads are not in this one",
      "",
      "Start processes by multiprocessing's \"spawn\" or \"forkserver\" (a DataLoader has multiprocessing_context for "
      "it), or use brightnet in one of the two alone.");
}

void CallingThread::run(const std::function<void()>& work, const std::function<void()>& stop) {
  std::exception_ptr failed;
  std::thread worker([&] {
    try {
      begin_call();
      const LimitedImageThreads limited;  // not for the whole process: cv2 may be of the same library
      work();
    } catch (...) {
      failed = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  });
  for (bool going = true; going;) {
    const std::function<void()>* asked = nullptr;
    {
      const ReleasedGil released;
      std::unique_lock lock(mutex_);
      // Signals are looked for so often.
      changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return done_ || asked_; });
      asked = asked_;
      going = !done_;
    }
    if (asked) {
      attend(*asked, stop);
      const ReleasedGil released;
      const std::lock_guard lock(mutex_);
      asked_ = nullptr;
      changed_.notify_all();
    }
    attend(
        [] {
          if (PyErr_CheckSignals() != 0) throw nb::python_error();
        },
        stop);
  }
  {
    const ReleasedGil released;
    worker.join();
  }
  if (failed) std::rethrow_exception(failed);
  if (raised_) std::rethrow_exception(raised_);
}

void CallingThread::attend(const std::function<void()>& call, const std::function<void()>& stop) {
  try {
    call();
  } catch (...) {
    if (!raised_) raised_ = std::current_exception();
    stop();
  }
}

void CallingThread::ask(const std::function<void()>& call) {
  std::unique_lock lock(mutex_);
  asked_ = &call;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !asked_; });
}

nb::object array_of(const std::shared_ptr<uint8_t>& bytes, std::initializer_list<size_t> shape) {
  auto kept = std::make_unique<std::shared_ptr<uint8_t>>(bytes);
  const nb::capsule owner(kept.get(),
                          [](void* data) noexcept { delete static_cast<std::shared_ptr<uint8_t>*>(data); });
  kept.release();  // the capsule's from here on
  return nb::cast(nb::ndarray<nb::numpy, uint8_t>(bytes.get(), shape.size(), shape.begin(), owner));
}

namespace {

/// Plans that read data or open devices take a while: Ctrl-C is raised when they have ended.
template <typename Made>
Made done_beside(const std::function<Made()>& work) {
  Made made;
  CallingThread().run([&] { made = work(); }, [] {});
  return made;
}

}  // namespace

}  // namespace brightnet::python

NB_MODULE(_brightnet, m) {
  using namespace brightnet;
  using namespace brightnet::python;
  nb::set_leak_warnings(false);  // objects may outlive the interpreter's last collection

  const nb::object error = nb::exception<Error>(m, "Error", PyExc_RuntimeError);
  error.attr("__doc__") = "What a user can mend: what happened, where, and what to do.";
  const nb::object input = nb::exception<InputError>(m, "InputError", error.ptr());
  input.attr("__doc__") = "Arguments, configurations, data or weights that cannot be used as they are.";
  const nb::object device = nb::exception<DeviceError>(m, "DeviceError", error.ptr());
  device.attr("__doc__") = "The device asked for cannot be used.";
  error_classes = {error.ptr(), input.ptr(), device.ptr()};
  nb::register_exception_translator(raise);

  m.def("set_log_handler", &set_log_handler, nb::arg("handler").none());
  m.def("config_keys", [] {
    const LibraryCall call;
    return config_keys();
  });
  m.def("describe_models", [] {
    const LibraryCall call;
    return describe_models().json;
  });
  m.def(
      "plan_memory",
      [](const std::filesystem::path& model, const std::filesystem::path& data,
         const std::vector<nb::str>& settings, const std::string& device, const std::string& precision,
         int batch, int classes, std::pair<int, int> size, const std::string& device_memory) {
        MemoryOptions options{.run = {.config = model.string(),
                                      .data = data.string(),
                                      .settings = bytes_of(settings),
                                      .precision = precision},
                              .device = device,
                              .batch = batch,
                              .classes = classes,
                              .height = size.first,
                              .width = size.second,
                              .device_memory = device_memory};
        return done_beside<std::string>([&] { return plan_memory(options).json; });
      },
      nb::arg("model"), nb::arg("data"), nb::arg("settings"), nb::arg("device"), nb::arg("precision"),
      nb::arg("batch"), nb::arg("classes"), nb::arg("size"), nb::arg("device_memory"));
  m.def(
      "export_onnx",
      [](const Weights& weights, const std::filesystem::path& file, const std::string& heads, int batch,
         std::pair<int, int> size, int opset, float confidence, float nms) {
        const LibraryCall call;
        export_onnx(weights, file,
                    {.heads = heads,
                     .batch = batch,
                     .height = size.first,
                     .width = size.second,
                     .opset = opset,
                     .confidence = confidence,
                     .nms = nms});
      },
      nb::arg("weights"), nb::arg("file"), nb::arg("heads"), nb::arg("batch"), nb::arg("size"),
      nb::arg("opset"), nb::arg("confidence"), nb::arg("nms"));
  m.def(
      "is_onnx_export",
      [](const std::filesystem::path& file) {
        const LibraryCall call;
        return is_onnx_export(file);
      },
      nb::arg("file"));
  m.def(
      "export_darknet",
      [](const Weights& weights, const std::filesystem::path& folder, const std::string& name,
         const std::string& numbers) {
        const LibraryCall call;
        export_darknet(weights, folder, name, numbers);
      },
      nb::arg("weights"), nb::arg("folder"), nb::arg("name"), nb::arg("numbers"));
  m.def(
      "prune",
      [](const std::filesystem::path& weights, const std::filesystem::path& cfg,
         const std::filesystem::path& names, const std::filesystem::path& out, double keep,
         const std::string& by, const std::filesystem::path& data, int multiple, bool replace) {
        const PruningOptions options{.weights = {weights, cfg, names, {}},
                                     .out = out,
                                     .replace = replace,
                                     .keep = keep,
                                     .by = by,
                                     .multiple = multiple,
                                     .data = data.string()};
        const auto made = done_beside<PrunedNetwork>([&] { return prune(options); });
        return nb::make_tuple(made.answer.json, made.model, made.weights);
      },
      nb::arg("weights"), nb::arg("cfg"), nb::arg("names"), nb::arg("out"), nb::arg("keep"), nb::arg("by"),
      nb::arg("data"), nb::arg("multiple"), nb::arg("replace"));
  m.attr("__version__") = BRIGHTNET_VERSION;
  m.attr("oldest_opset") = onnx_oldest_opset;
  add_detector(m);
  add_data(m);
  add_training(m);
}
