#include "kernels/cuda/convolution_engine.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

#include <cudnn_frontend.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/processors.h"
#include "core/progress.h"
#include "kernels/cuda/convolution_timing.h"
#include "kernels/cuda/installation.h"
#include "kernels/cuda/libraries.h"

namespace cudnn_frontend {
// Where the frontend looks for cuDNN's functions.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace brightnet::cuda {
namespace {

namespace fe = cudnn_frontend;

constexpr double seconds_between_messages = 20;
constexpr size_t most_makers =
    8;  ///< threads that make engines: each has a handle, which takes memory of the GPU

std::string cudnn_version() {
  const size_t v = fe::detail::get_backend_version();
  return std::to_string(v / 10000) + '.' + std::to_string(v % 10000 / 100) + '.' + std::to_string(v % 100);
}

bool is_compiled_now(const fe::graph::Graph& graph, int64_t index) {
  std::vector<fe::BehaviorNote_t> notes;
  return graph.get_behavior_notes_for_plan_at_index(index, notes).is_good() &&
         std::count(notes.begin(), notes.end(), fe::BehaviorNote_t::RUNTIME_COMPILATION) > 0;
}

}  // namespace

/// The operands and the workspace with which the engines of a pass are tried.
struct ConvolutionEngines::Trial {
  const Pass& pass;
  const std::vector<ConvolutionEngine>& engines;
  const Pointers& pointers;
  EngineWorkspace workspace;
  cudaStream_t stream;
  bool undecided = false;  ///< an engine was left out that could not be checked
};

ConvolutionEngines::~ConvolutionEngines() {
  report_timing(0);
  chosen_.clear();
  for (const cudnnHandle_t maker : makers_) fe::detail::destroy_handle(maker);
  if (handle_) fe::detail::destroy_handle(handle_);
}

void ConvolutionEngines::open(cudaStream_t stream) {
  if (handle_) return;
  const SharedLibrary& library = cudnn_library();
  if (!library.loaded())
    throw DeviceError("cuDNN cannot be loaded: " + library.problem(), "",
                      "`brightnet doctor` says what is missing");
  fe::cudnn_dlhandle = library.handle();
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = fe::detail::create_handle(&handle);
  if (status == CUDNN_STATUS_SUCCESS) status = fe::detail::set_stream(handle, stream);
  if (status != CUDNN_STATUS_SUCCESS) {
    if (handle) fe::detail::destroy_handle(handle);
    throw DeviceError(std::string("cuDNN does not start: ") + fe::detail::get_error_string(status),
                      library.path(), "`brightnet doctor` looks at the versions of driver and cuDNN");
  }
  cache_ = std::make_unique<TuneCache>(tune_cache_file(options_.gpu, cudnn_version()));
  handle_ = handle;
}

std::string ConvolutionEngines::remembered(const Pass& pass) const {
  return is_timed() ? cache_->find(pass.name) : "";
}

void ConvolutionEngines::expect(const Pass& pass, size_t workspace_bytes) {
  if (!chosen_.count(pass.name)) expected_.insert({pass.name, {pass, workspace_bytes}});
}

EnginePointer ConvolutionEngines::choose(const Pass& pass, const Pointers& pointers,
                                         EngineWorkspace workspace, cudaStream_t stream) {
  BRIGHTNET_CHECK(!is_capturing(stream), "a convolution chose its engine inside a graph");
  open(stream);
  note_progress();
  make_expected();
  EnginePointer& chosen = chosen_[pass.name];
  const std::string name = remembered(pass);
  if (!chosen && !name.empty()) chosen = named(pass, name, workspace.bytes, handle_);
  // Also what was remembered and is no longer offered, by another build of the same version, is measured.
  if (!chosen) chosen = measured(pass, pointers, workspace, stream);
  return chosen;
}

/// cuDNN may be called from several threads, each with a handle of its own.
void ConvolutionEngines::make_expected() {
  struct Making {
    const Expected* expected;
    std::string name;
    EnginePointer engine;
  };
  std::vector<Making> all;
  for (const auto& [key, expected] : expected_) {
    if (std::string name = remembered(expected.pass); !name.empty())
      all.push_back({&expected, name, nullptr});
  }
  const double began = seconds_now();
  std::atomic<size_t> next{0};
  const auto make = [&](cudnnHandle_t handle) {
    for (size_t i = next++; i < all.size(); i = next++) {
      const Expected& expected = *all[i].expected;
      all[i].engine = named(expected.pass, all[i].name, expected.workspace_bytes, handle);
      note_progress();
    }
  };
  const int gpu = current_gpu();
  std::vector<std::future<void>> threads;
  const size_t most = std::min({all.size(), static_cast<size_t>(usable_processors()), most_makers});
  for (size_t thread = 1; thread < most; ++thread) {
    if (makers_.size() < thread) {
      cudnnHandle_t maker = nullptr;
      if (fe::detail::create_handle(&maker) != CUDNN_STATUS_SUCCESS) break;
      makers_.push_back(maker);
    }
    threads.push_back(std::async(std::launch::async, [&make, gpu, maker = makers_[thread - 1]] {
      check(cudaSetDevice(gpu), "choose the GPU");
      make(maker);
    }));
  }
  make(handle_);
  for (std::future<void>& thread : threads) thread.get();
  size_t compiled = 0;
  for (const Making& making : all) {
    if (!making.engine) continue;
    compiled += is_compiled_now(*making.engine->variant.graph, making.engine->index);
    chosen_[making.expected->pass.name] = making.engine;
  }
  expected_.clear();
  if (compiled > 0) {
    log::info("cuDNN compiled {} of the {} engines that an earlier run chose, which took {:.1f} s.", compiled,
              all.size(), seconds_now() - began);
  }
}

EnginePointer ConvolutionEngines::measured(const Pass& pass, const Pointers& pointers,
                                           EngineWorkspace workspace, cudaStream_t stream) {
  const double began = seconds_now();
  std::string problems;
  const std::vector<ConvolutionEngine> engines = offered(pass, workspace.bytes, problems);
  Trial trial{pass, engines, pointers, workspace, stream};
  std::vector<Candidate> candidates;
  for (const ConvolutionEngine& engine : engines) {
    candidates.push_back({is_compiled_now(*engine.variant.graph, engine.index),
                          [&](float hopeless) { return time(engine, trial, hopeless); }});
  }
  // Times vary, and with them the choice: the same bits in every run need the heuristics' first that runs.
  const auto [index, timed] =
      is_timed() ? budget_.choose(candidates) : TimingBudget::Choice{first_that_runs(candidates), false};
  if (index < 0) {
    throw DeviceError(
        "cuDNN " + cudnn_version() + " has no engine for the convolution " + pass.name + ":" + problems, "",
        "Try another precision or another version of cuDNN");
  }
  const auto chosen = std::make_shared<const ConvolutionEngine>(engines[index]);
  if (!is_timed()) return chosen;
  if (timed && !trial.undecided) {
    cache_->remember(pass.name, chosen->name);
    cache_->save();  // a run that is killed need not be measured again
  }
  timing_.seconds += seconds_now() - began;
  ++(timed ? timing_.passes : timing_.untimed);
  report_timing(seconds_between_messages);
  return chosen;
}

EnginePointer ConvolutionEngines::assumed(const Pass& pass) const {
  const ConvolutionVariants variants = pass.variants();
  const ConvolutionVariant& variant = LaunchList::current()->fuses() ? variants.front() : variants.back();
  return std::make_shared<const ConvolutionEngine>(ConvolutionEngine{variant, -1, "assumed"});
}

// Steps are captured after all of their convolutions have chosen.
void ConvolutionEngines::execute(const ConvolutionEngine& engine, const Pointers& pointers,
                                 EngineWorkspace workspace, cudaStream_t stream) {
  open(stream);
  if (timing_.passes + timing_.untimed > 0 && is_capturing(stream)) report_timing(0);
  if (const auto problem = try_execute(engine, pointers, workspace, stream)) {
    throw DeviceError("cuDNN failed in a convolution's " + engine.name + ": " + *problem, "",
                      "`brightnet doctor` tries convolutions in each precision");
  }
}

/// Says how long the timing took that was not reported yet, once it took so many seconds.
void ConvolutionEngines::report_timing(double least_seconds) {
  if (timing_.passes + timing_.untimed == 0 || timing_.seconds < least_seconds) return;
  log::info("cuDNN's engines for {} passes of convolutions were timed in {:.1f} s; {}.", timing_.passes,
            timing_.seconds,
            cache_->file().empty() ? std::string("they will be again in the next run")
                                   : "the fastest are remembered in " + cache_->file().string());
  if (timing_.untimed > 0) {
    log::info(
        "{} more passes take the engine that cuDNN recommends, untimed: this run spends {:.3g} s on timing. "
        "The next run times them.",
        timing_.untimed, options_.timing_seconds);
  }
  timing_ = {};
}

/// Runs an engine as a step does; cuDNN's reason when it does not run.
std::optional<std::string> ConvolutionEngines::try_execute(const ConvolutionEngine& engine,
                                                           const Pointers& pointers,
                                                           EngineWorkspace workspace,
                                                           cudaStream_t stream) const {
  Pointers own = pointers;  // the frontend adds to it
  auto status = engine.variant.graph->execute_plan_at_index(handle_, own, workspace.data, engine.index);
  if (status.is_bad()) return status.get_message();
  if (engine.variant.epilogue) engine.variant.epilogue(pointers, workspace.data, stream);
  return std::nullopt;
}

/// Asks the heuristics for the engines of a graph, best first; a reason when there are none.
std::string ConvolutionEngines::plan_engines(const ConvolutionVariant& variant, DType type,
                                             size_t workspace_bytes, cudnnHandle_t handle) const {
  fe::graph::Graph& graph = *variant.graph;
  auto status = graph.validate();
  if (status.is_good()) status = graph.build_operation_graph(handle);
  if (status.is_good()) status = graph.create_execution_plans(engine_lists);
  if (status.is_bad()) return status.get_message();
  deselect_engines(graph, type, {options_.tensor_float, is_reproducible(), workspace_bytes});
  return "";
}

EnginePointer ConvolutionEngines::named(const Pass& pass, const std::string& name, size_t workspace_bytes,
                                        cudnnHandle_t handle) const {
  for (const ConvolutionVariant& variant : pass.variants()) {
    const bool own = name.rfind(variant.name + ':', 0) == 0;
    if (!own || !plan_engines(variant, pass.type, workspace_bytes, handle).empty()) continue;
    for (int64_t i = 0; i < variant.graph->get_execution_plan_count(); ++i) {
      if (engine_name(variant, i) == name && variant.graph->build_plan_at_index(i).is_good())
        return std::make_shared<const ConvolutionEngine>(ConvolutionEngine{variant, i, name});
    }
  }
  return nullptr;
}

/// The engines of all variants that can be planned.
std::vector<ConvolutionEngine> ConvolutionEngines::offered(const Pass& pass, size_t workspace_bytes,
                                                           std::string& problems) const {
  ConvolutionVariants variants;
  for (const ConvolutionVariant& variant : pass.variants()) {
    if (const std::string problem = plan_engines(variant, pass.type, workspace_bytes, handle_);
        !problem.empty()) {
      problems += ' ' + problem;
    } else {
      variants.push_back(variant);
    }
  }
  return usable_engines(variants);
}

/// Builds and runs the engine: see Candidate::time.
float ConvolutionEngines::time(const ConvolutionEngine& engine, Trial& trial, float hopeless) const {
  if (engine.variant.graph->build_plan_at_index(engine.index).is_bad()) return -1;
  const InPlace in_place = engine.variant.accumulates ? accumulates(engine, trial) : InPlace::adds;
  if (in_place != InPlace::adds) {
    trial.undecided = trial.undecided || in_place == InPlace::unknown;
    log::warn("cuDNN's {} is not used for {}: it was not seen to add in place what a pass of its own adds.",
              engine.name, trial.pass.name);
    return -1;
  }
  const float milliseconds = fastest_run([&] { return try_run(engine, trial); }, trial.stream, hopeless);
  note_progress();
  return milliseconds;
}

/// Compares an engine that adds with the first of the others that runs.
InPlace ConvolutionEngines::accumulates(const ConvolutionEngine& engine, const Trial& trial) const {
  const auto product = [&] {
    return std::any_of(trial.engines.begin(), trial.engines.end(), [&](const ConvolutionEngine& other) {
      return !other.variant.accumulates && other.variant.graph->build_plan_at_index(other.index).is_good() &&
             !try_execute(other, trial.pointers, trial.workspace, trial.stream);
    });
  };
  const Tensor part{trial.pointers.at(x_slot), *engine.variant.accumulates, trial.pass.type};
  return check_in_place({product, [&] { return try_run(engine, trial); }}, part, trial.stream);
}

/// Runs an engine as a step does, in place where that is, and with the work that it leaves to others; false when it does not run.
bool ConvolutionEngines::try_run(const ConvolutionEngine& engine, const Trial& trial) const {
  Pointers pointers = trial.pointers;
  if (engine.variant.accumulates) pointers[addend_slot] = pointers.at(x_slot);
  if (try_execute(engine, pointers, trial.workspace, trial.stream)) return false;
  if (engine.variant.elsewhere) engine.variant.elsewhere(pointers, trial.workspace.data, trial.stream);
  return true;
}

SumEngines sum_engines(int gpu) {
  const SharedLibrary& library = cudnn_library();
  if (!library.loaded()) return {};
  fe::cudnn_dlhandle = library.handle();
  const auto card = std::make_shared<fe::DeviceProperties>();
  if (card->set_device_id(gpu).build().is_bad()) return {};
  return {has_engines_with_sums(DType::f16, card), has_engines_with_sums(DType::bf16, card)};
}

}  // namespace brightnet::cuda
