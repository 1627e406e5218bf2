// Data sets: checked, and as the batches of a training.
#include "brightnet/data.h"

#include <algorithm>
#include <mutex>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "brightnet/dataset.h"
#include "brightnet/threads.h"
#include "python/module.h"

namespace brightnet::python {
namespace {

struct OwnedBatches {
  LimitedImageThreads limited = {};  ///< the loader's threads work between the calls
  Owned<TrainingBatches> batches;
  std::mutex mutex = {};  ///< threads of Python may share an iterator; locked without the GIL
};

/// The images (n × height × width × channels), their objects (m × 6: image, class, x, y, w, h), epoch and step, or None after
/// the last.
nb::object next_of(OwnedBatches& owned) {
  TrainingBatch batch;
  std::shared_ptr<uint8_t> pixels;
  {
    const LibraryCall call;
    const std::lock_guard lock(owned.mutex);
    const TrainingBatch* const next = owned.batches->next();
    if (next) {
      batch = *next;
      pixels = owned.batches->keep_pixels();
    }
  }
  if (!pixels) return nb::none();
  std::vector<float> targets;
  for (const TrainingBatch::Truth& truth : batch.truths) {
    targets.insert(targets.end(), {static_cast<float>(truth.image), static_cast<float>(truth.class_id),
                                   truth.x, truth.y, truth.w, truth.h});
  }
  const auto sized = [](int value) { return static_cast<size_t>(value); };
  return nb::make_tuple(
      array_of(pixels, {sized(batch.count), sized(batch.height), sized(batch.width), sized(batch.channels)}),
      array_of(std::move(targets), {batch.truths.size(), 6}), batch.epoch, batch.step);
}

nb::tuple checked(const Configuration& data) {
  DataCheck check;
  CallingThread().run([&] { check = check_data(data); }, [] {});
  return nb::make_tuple(check.usable, text_of(check.answer.text), text_of(check.answer.json));
}

}  // namespace

void add_data(nb::module_& m) {
  m.def(
      "check_data",
      [](const std::filesystem::path& data, const std::vector<nb::str>& settings) {
        return checked({.config = data.string(), .settings = bytes_of(settings)});
      },
      nb::arg("data"), nb::arg("settings"));
  nb::class_<OwnedBatches>(m, "TrainingBatches")
      .def(
          "__init__",
          [](OwnedBatches* self, const std::filesystem::path& data, const std::vector<nb::str>& settings,
             int batch, std::pair<int, int> size, int64_t epochs) {
            // Before the loader's threads: OpenCV takes its own away from under whoever decodes.
            const LimitedImageThreads limited;
            Owned<TrainingBatches> made;
            const std::vector<std::string> assignments = bytes_of(settings);
            {
              const LibraryCall call;
              made.reset(
                  new TrainingBatches({.data = data.string(),
                                       .settings = assignments,
                                       .batch = batch,
                                       .height = size.first,
                                       .width = size.second,
                                       .epochs = static_cast<uint64_t>(std::max<int64_t>(epochs, 0))}));
            }
            new (self) OwnedBatches{.batches = std::move(made)};
          },
          nb::arg("data"), nb::arg("settings"), nb::arg("batch"), nb::arg("size"), nb::arg("epochs"))
      .def("next", [](OwnedBatches& self) { return next_of(self); })
      .def_prop_ro("classes", [](const OwnedBatches& self) { return self.batches->classes(); })
      .def_prop_ro("steps_per_epoch",
                   [](const OwnedBatches& self) { return self.batches->steps_per_epoch(); });
}

}  // namespace brightnet::python
