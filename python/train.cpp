// Training and evaluation.
#include "brightnet/train.h"

#include <stop_token>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "brightnet/error.h"
#include "python/module.h"

namespace brightnet::python {

nb::dict dict_of(const Scores& scores) {
  nb::dict dict;
  dict["AP"] = scores.AP;
  dict["AP50"] = scores.AP50;
  dict["AP75"] = scores.AP75;
  dict["APs"] = scores.APs;
  dict["APm"] = scores.APm;
  dict["APl"] = scores.APl;
  dict["AR"] = scores.AR;
  dict["precision"] = scores.precision;
  dict["recall"] = scores.recall;
  dict["score"] = scores.confidence;
  nb::list classes;
  for (const Scores::OfClass& one : scores.per_class) {
    nb::dict of_class;
    of_class["name"] = one.name;
    of_class["AP"] = one.AP;
    of_class["AP50"] = one.AP50;
    of_class["truths"] = one.truths;
    classes.append(of_class);
  }
  dict["per_class"] = classes;
  dict["images"] = scores.images;
  dict["truths"] = scores.truths;
  dict["detections"] = scores.detections;
  return dict;
}

namespace {

/// The values of a step by the names of metrics.csv (docs/metrics.md).
nb::dict values_of(const StepReport& report) {
  nb::dict dict;
  dict["epoch"] = report.epoch;
  dict["epochs"] = report.epochs;
  dict["step"] = report.step;
  dict["steps"] = report.steps;
  dict["iteration"] = report.iteration;
  dict["learning_rate"] = report.rate;
  dict["loss"] = report.loss;
  dict["box_loss"] = report.box;
  dict["objectness_loss"] = report.objectness;
  dict["class_loss"] = report.classes;
  dict["seconds_left"] = report.seconds_left;
  return dict;
}

nb::dict values_of(const StepReport& report, const Scores* scores) {
  nb::dict dict = values_of(report);
  if (!scores) return dict;
  dict.update(dict_of(*scores));
  dict["val_loss"] = scores->loss;
  return dict;
}

/// Has Python's tell(event, values) called on the thread that called train(), and stops the run when it returns False.
class PythonObserver : public RunObserver {
 public:
  PythonObserver(CallingThread& caller, const nb::callable& tell) : caller_(caller), tell_(tell) {}

  void began(const std::filesystem::path& folder) override {
    tell("begin", [&] { return nb::cast(folder); });
  }
  void step(const StepReport& report) override {
    tell("step", [&] { return values_of(report); });
  }
  void evaluated(const StepReport& report, const Scores& scores) override {
    tell("evaluation", [&] { return values_of(report, &scores); });
  }
  void epoch(const StepReport& report, const Scores* scores) override {
    if (scores) tell("evaluation", [&] { return values_of(report, scores); });
    tell("epoch", [&] { return values_of(report, scores); });
  }

  void request_stop() { stop_.request_stop(); }
  std::stop_token token() const { return stop_.get_token(); }

 private:
  void tell(const char* event, const std::function<nb::object()>& values) {
    caller_.ask([&] {
      if (tell_(event, values()).is(Py_False)) request_stop();
    });
  }

  CallingThread& caller_;
  const nb::callable& tell_;
  std::stop_source stop_;
};

const char* name_of(TrainingOutcome outcome) {
  switch (outcome) {
    case TrainingOutcome::finished: return "finished";
    case TrainingOutcome::no_better: return "no_better";
    case TrainingOutcome::stopped: return "stopped";
    case TrainingOutcome::was_over: return "was_over";
  }
  return "";
}

nb::dict train_model(const TrainingOptions& options, const nb::callable& tell) {
  CallingThread caller;
  PythonObserver observer(caller, tell);
  TrainingResult result;
  caller.run([&] { result = train(options, observer.token(), &observer); }, [&] { observer.request_stop(); });
  nb::dict dict;
  dict["outcome"] = name_of(result.outcome);
  dict["folder"] = result.folder;
  dict["weights"] = result.weights;
  dict["epochs"] = result.epochs;
  dict["iterations"] = result.iterations;
  dict["best"] = result.best ? nb::object(dict_of(*result.best)) : nb::none();
  return dict;
}

nb::dict evaluate_weights(const Weights& weights, const std::string& data, EvaluationOptions options) {
  CallingThread caller;
  std::atomic<bool> stopped = false;
  options.progress = [&](int64_t, int64_t) { return !stopped; };
  Scores scores;
  caller.run(
      [&] {
        try {
          scores = evaluate(weights, data, options);
        } catch (const InputError&) {
          if (!stopped) throw;  // that it was stopped is known
        }
      },
      [&] { stopped = true; });
  nb::dict dict = dict_of(scores);
  dict["loss"] = scores.loss;
  return dict;
}

}  // namespace

void add_training(nb::module_& m) {
  m.def(
      "train",
      [](const std::filesystem::path& config, const std::filesystem::path& model,
         const std::filesystem::path& data, const std::vector<nb::str>& settings, const std::string& fold,
         const std::string& precision, int64_t epochs, const std::string& size, int batch,
         const std::filesystem::path& weights, const std::filesystem::path& weights_cfg, bool weights_partial,
         bool resume, const std::filesystem::path& folder, const std::filesystem::path& out,
         const std::string& device, bool no_graph, const nb::callable& tell) {
        return train_model({.run = {config.string(), model.string(), data.string(), bytes_of(settings), fold,
                                    precision, size, batch},
                            .epochs = epochs,
                            .weights = weights.string(),
                            .weights_cfg = weights_cfg.string(),
                            .weights_partial = weights_partial,
                            .resume = resume,
                            .folder = folder,
                            .out = out,
                            .device = device,
                            .no_graph = no_graph},
                           tell);
      },
      nb::arg("config"), nb::arg("model"), nb::arg("data"), nb::arg("settings"), nb::arg("fold"),
      nb::arg("precision"), nb::arg("epochs"), nb::arg("size"), nb::arg("batch"), nb::arg("weights"),
      nb::arg("weights_cfg"), nb::arg("weights_partial"), nb::arg("resume"), nb::arg("folder"),
      nb::arg("out"), nb::arg("device"), nb::arg("no_graph"), nb::arg("tell"));
  m.def(
      "evaluate",
      [](const Weights& weights, const std::filesystem::path& data, const std::string& split,
         const std::vector<nb::str>& settings, const std::string& device, const std::string& precision,
         int batch, std::pair<int, int> size) {
        return evaluate_weights(weights, data.string(),
                                {.device = {device, precision},
                                 .split = split,
                                 .settings = bytes_of(settings),
                                 .batch = batch,
                                 .height = size.first,
                                 .width = size.second});
      },
      nb::arg("weights"), nb::arg("data"), nb::arg("split"), nb::arg("settings"), nb::arg("device"),
      nb::arg("precision"), nb::arg("batch"), nb::arg("size"));
}

}  // namespace brightnet::python
