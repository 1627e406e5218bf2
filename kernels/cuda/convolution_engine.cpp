#include "kernels/cuda/convolution_engine.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "core/clock.h"
#include "core/log.h"
#include "core/progress.h"
#include "kernels/cuda/convolution_timing.h"
#include "kernels/cuda/libraries.h"

namespace cudnn_frontend {
// Where the frontend looks for cuDNN's functions.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace brightnet::cuda {
namespace {

namespace fe = cudnn_frontend;

// The heuristics list the engines best first. Per pass and variant, so many seconds of timing: yolov4 has some
// hundred different passes, and most engines take milliseconds.
constexpr double most_seconds = 2;
constexpr int most_compiled = 2;  ///< of those that cuDNN compiles for the occasion, a second or so each
constexpr float hopeless = 1.5f;  ///< times the best: not worth the rounds
constexpr double seconds_between_messages = 20;

std::string cudnn_version() {
  const size_t v = fe::detail::get_backend_version();
  return std::to_string(v / 10000) + '.' + std::to_string(v % 10000 / 100) + '.' + std::to_string(v % 100);
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "ask whether a graph is captured");
  return status != cudaStreamCaptureStatusNone;
}

std::string engine_name(const ConvolutionVariant& variant, int64_t index) {
  std::string tag;
  if (variant.graph->get_plan_name_at_index(index, tag).is_bad()) tag = "engine " + std::to_string(index);
  return variant.name + ':' + tag;
}

bool is_compiled_now(const fe::graph::Graph& graph, int64_t index) {
  std::vector<fe::BehaviorNote_t> notes;
  return graph.get_behavior_notes_for_plan_at_index(index, notes).is_good() &&
         std::count(notes.begin(), notes.end(), fe::BehaviorNote_t::RUNTIME_COMPILATION) > 0;
}

}  // namespace

struct ConvolutionEngines::Timed {
  EnginePointer engine;
  float milliseconds = std::numeric_limits<float>::max();
};

ConvolutionEngines::~ConvolutionEngines() {
  report_timing(0);
  chosen_.clear();
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

EnginePointer ConvolutionEngines::choose(const Pass& pass, const Pointers& pointers,
                                         EngineWorkspace workspace, cudaStream_t stream) {
  BRIGHTNET_CHECK(!is_capturing(stream), "a convolution chose its engine inside a graph");
  open(stream);
  note_progress();
  EnginePointer& chosen = chosen_[pass.name];
  const std::string remembered = options_.deterministic ? "" : cache_->find(pass.name);
  if (!chosen && !remembered.empty()) chosen = named(pass, remembered, workspace.bytes);
  // Also what was remembered and is no longer offered, by another build of the same version, is measured.
  if (!chosen) {
    const double began = seconds_now();
    chosen = fastest(pass, pointers, workspace, stream);
    if (options_.deterministic) return chosen;
    cache_->remember(pass.name, chosen->name);
    cache_->save();  // a run that is killed need not be measured again
    timing_.seconds += seconds_now() - began;
    ++timing_.passes;
    report_timing(seconds_between_messages);
  }
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
  if (timing_.passes > 0 && is_capturing(stream)) report_timing(0);
  auto status = try_execute(engine, pointers, workspace, stream);
  if (status.is_bad()) {
    throw DeviceError("cuDNN failed in a convolution's " + engine.name + ": " + status.get_message(), "",
                      "`brightnet doctor` tries convolutions in each precision");
  }
}

/// Says how long the timing took that was not reported yet, once it took so many seconds.
void ConvolutionEngines::report_timing(double least_seconds) {
  if (timing_.passes == 0 || timing_.seconds < least_seconds) return;
  spdlog::info("cuDNN's engines for {} passes of convolutions were timed in {:.1f} s; {}.", timing_.passes,
               timing_.seconds,
               cache_->file().empty() ? std::string("they will be again in the next run")
                                      : "the fastest are remembered in " + cache_->file().string());
  timing_ = {};
}

fe::error_t ConvolutionEngines::try_execute(const ConvolutionEngine& engine, const Pointers& pointers,
                                            EngineWorkspace workspace, cudaStream_t stream) const {
  Pointers own = pointers;  // the frontend adds to it
  auto status = engine.variant.graph->execute_plan_at_index(handle_, own, workspace.data, engine.index);
  if (status.is_good() && engine.variant.epilogue) engine.variant.epilogue(pointers, workspace.data, stream);
  return status;
}

/// Asks the heuristics for the engines of a graph, best first; a reason when there are none.
std::string ConvolutionEngines::plan_engines(const ConvolutionVariant& variant, DType type,
                                             size_t workspace_bytes) const {
  fe::graph::Graph& graph = *variant.graph;
  auto status = graph.validate();
  if (status.is_good()) status = graph.build_operation_graph(handle_);
  if (status.is_good()) status = graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
  if (status.is_bad()) return status.get_message();
  deselect_engines(graph, type, {options_.tensor_float, options_.deterministic, workspace_bytes});
  return "";
}

EnginePointer ConvolutionEngines::named(const Pass& pass, const std::string& name,
                                        size_t workspace_bytes) const {
  for (const ConvolutionVariant& variant : pass.variants()) {
    const bool own = name.rfind(variant.name + ':', 0) == 0;
    if (!own || !plan_engines(variant, pass.type, workspace_bytes).empty()) continue;
    for (int64_t i = 0; i < variant.graph->get_execution_plan_count(); ++i) {
      if (engine_name(variant, i) == name && variant.graph->build_plan_at_index(i).is_good())
        return std::make_shared<const ConvolutionEngine>(ConvolutionEngine{variant, i, name});
    }
  }
  return nullptr;
}

EnginePointer ConvolutionEngines::fastest(const Pass& pass, const Pointers& pointers,
                                          EngineWorkspace workspace, cudaStream_t stream) const {
  std::string problems;
  Timed best;
  for (const ConvolutionVariant& variant : pass.variants()) {
    if (options_.deterministic && best.engine) break;
    if (const std::string problem = plan_engines(variant, pass.type, workspace.bytes); problem.empty()) {
      keep_fastest(best, variant, pointers, workspace, stream);
    } else {
      problems += ' ' + problem;
    }
  }
  if (best.engine) return best.engine;
  throw DeviceError(
      "cuDNN " + cudnn_version() + " has no engine for the convolution " + pass.name + ":" + problems, "",
      "Try another precision or another version of cuDNN");
}

void ConvolutionEngines::keep_fastest(Timed& best, const ConvolutionVariant& variant,
                                      const Pointers& pointers, EngineWorkspace workspace,
                                      cudaStream_t stream) const {
  int compiled = 0;
  std::set<std::string> known;  // both lists of the heuristics may name an engine
  const double began = seconds_now();
  for (int64_t i = 0; i < variant.graph->get_execution_plan_count(); ++i) {
    if (best.engine && seconds_now() - began > most_seconds) break;
    const ConvolutionEngine candidate{variant, i, engine_name(variant, i)};
    if (!known.insert(candidate.name).second) continue;
    // One that cannot be compiled has taken its second too.
    if (is_compiled_now(*variant.graph, i) && ++compiled > most_compiled) continue;
    if (variant.graph->build_plan_at_index(i).is_bad()) continue;
    const auto run = [&] { return try_run(candidate, pointers, workspace, stream); };
    // Times vary, and with them the choice: the same bits in every run need the heuristics' first that runs.
    if (options_.deterministic) {
      if (fastest_run(run, stream, 0) < 0) continue;
      best.engine = std::make_shared<const ConvolutionEngine>(candidate);
      return;
    }
    const float milliseconds = fastest_run(run, stream, hopeless * best.milliseconds);
    note_progress();
    if (milliseconds < 0) continue;
    if (milliseconds < best.milliseconds)
      best = {std::make_shared<const ConvolutionEngine>(candidate), milliseconds};
  }
}

/// With what it costs others; false when the engine does not run.
bool ConvolutionEngines::try_run(const ConvolutionEngine& engine, const Pointers& pointers,
                                 EngineWorkspace workspace, cudaStream_t stream) const {
  if (try_execute(engine, pointers, workspace, stream).is_bad()) return false;
  if (engine.variant.elsewhere) engine.variant.elsewhere(pointers, workspace.data, stream);
  return true;
}

}  // namespace brightnet::cuda
