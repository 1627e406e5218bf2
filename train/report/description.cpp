#include "train/report/description.h"

#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/host_memory.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/split/shared_images.h"
#include "train/distributed/agreement.h"
#include "train/run/data_fingerprint.h"

namespace brightnet {
namespace {

/// The name that the operating system's kernel has for it; empty where it has none.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos)
      return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return "";
}

std::string describe_split(const Dataset& dataset) {
  const SplitFingerprint print = fingerprint(dataset);
  return fmt::format("{} with {}; fingerprint {:016x}", counted(print.images, "image", "images"),
                     counted(print.objects, "object", "objects"), print.hash);
}

}  // namespace

RunDescription describe_run(const TrainingSetup& setup, const ParameterLayout& layout, size_t device_memory) {
  const RunConfig& config = setup.config;
  RunDescription run;
  run.name = setup.folder.path().filename().string();
  run.classes = setup.train.classes;
  run.taught = config.distillation != nullptr;
  run.training_objects = setup.training_pictures().objects_of_classes();
  if (std::string shared = describe_trained_on(setup.train, setup.val); !shared.empty())
    run.warnings.push_back(std::move(shared));
  run.data = {{"training split", describe_split(setup.train)},
              {"validation split", describe_split(setup.val)},
              {"folder", config.data.root},
              {"classes", fmt::format("{}: {}", run.classes.size(), fmt::join(run.classes, ", "))},
              {"fingerprint",
               "a hash of the images' names and sizes, the boxes and the classes: equal fingerprints "
               "mean equal data"}};
  run.model = {{"model", setup.model.name},
               {"parameters", fmt::format("{:.2f} M", layout.trainable_parameters() / 1e6)},
               {"input", config.train.size.value().square()
                             ? fmt::format("{0} x {0}", config.train.size.value().height)
                             : config.train.size.value().described()},
               {"batch", fmt::format("{} in micro-batches of {}", config.train.batch.value(),
                                     config.train.micro_batch.value())}};
  run.machine = {{"host", host_name()},
                 {"processor", processor_name()},
                 {"device", setup.backend.name()},
                 {"precision", std::string(enum_name(config.train.precision.value()))},
                 {"threads", std::to_string(compute_threads())},
                 {"ranks", std::to_string(setup.communicator.size())},
                 {"memory of training", format_bytes(device_memory)}};
  run.config = print_config(config);
  return run;
}

}  // namespace brightnet
