// Trains two epochs with an observer that stops the run, resumes and evaluates it, and looks whether the library has left
// the process as it was.
// training DATA FOLDER: prints "ok", or what is wrong.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include <brightnet/dataset.h>
#include <brightnet/error.h>
#include <brightnet/evaluate.h>
#include <brightnet/train.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

namespace {

using namespace brightnet;

/// What a library has to leave alone: environment, signal handlers, folder, mask of new files, locale.
std::map<std::string, std::string> process_settings() {
  std::map<std::string, std::string> found;
  for (char** word = environ; *word; ++word) {
    const std::string text = *word;
    found["environment " + text.substr(0, text.find('='))] = text;
  }
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0) continue;
    found["signal " + std::to_string(signal)] =
        std::to_string(reinterpret_cast<std::uintptr_t>(action.sa_handler));
  }
  found["folder"] = std::filesystem::current_path().string();
  const mode_t mask = ::umask(0);
  ::umask(mask);
  found["umask"] = std::to_string(mask);
  found["locale"] = std::setlocale(LC_ALL, nullptr);
  return found;
}

class Watcher : public RunObserver {
 public:
  explicit Watcher(int64_t stop_after) : stop_after_(stop_after) {}
  void step(const StepReport& report) override {
    ++steps;
    if (report.iteration == stop_after_) source.request_stop();
  }
  void epoch(const StepReport&, const Scores* scores) override {
    ++epochs;
    evaluations += scores ? 1 : 0;
  }

  std::stop_source source;
  int steps = 0, epochs = 0, evaluations = 0;

 private:
  const int64_t stop_after_;
};

std::vector<std::string> problems;

void expect(bool holds, const std::string& what) {
  if (!holds) problems.push_back(what);
}

void use(const std::string& data, const std::string& folder) {
  const std::vector<std::string> settings{"train.epochs=2", "train.size=64",    "train.batch=4",
                                          "train.seed=1",   "evaluate.every=1", "loader.workers=1"};
  Watcher first(4);
  TrainingOptions options{
      .run = {.model = "yolov4-tiny", .data = data, .settings = settings, .precision = "fp32"},
      .folder = folder,
      .device = "cpu"};
  const TrainingResult stopped = train(options, first.source.get_token(), &first);
  expect(stopped.outcome == TrainingOutcome::stopped, "the observer's stop was not heeded");
  expect(stopped.iterations == 5, "it did not stop after the step that followed");

  Watcher second(0);
  TrainingOptions again;
  again.resume = true;
  again.folder = stopped.folder;
  again.device = options.device;
  const TrainingResult result = train(again, second.source.get_token(), &second);
  expect(result.outcome == TrainingOutcome::finished, "the resumed run did not finish");
  expect(result.epochs == 2 && second.epochs > 0, "the resumed run did not train two epochs");
  expect(result.best && result.best->per_class.size() > 0, "there are no best scores");

  const Weights weights = Weights::open(result.weights);
  EvaluationOptions evaluation;
  evaluation.device.device = "cpu";
  const Scores scores = evaluate(weights, data, evaluation);
  expect(scores.images > 0 && scores.AP >= 0, "the evaluation has no scores");

  TrainingBatches batches(
      {.data = data, .settings = {"train.seed=1"}, .batch = 4, .height = 64, .width = 96});
  const TrainingBatch* batch = batches.next();
  expect(batch && batch->count == 4 && batch->height == 64 && batch->width == 96, "there is no batch");

  try {
    Weights::open("/nowhere/weights.safetensors");
    expect(false, "weights that are not there were opened");
  } catch (const InputError& error) {
    expect(std::strstr(error.what(), "/nowhere/weights.safetensors"), "the error does not name the file");
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto before = process_settings();
  try {
    use(arguments[1], arguments[2]);
  } catch (const std::exception& error) {
    problems.push_back(error.what());
  }
  const auto after = process_settings();
  for (const auto& [what, value] : after) {
    const auto was = before.find(what);
    expect(was != before.end() && was->second == value, what + " is now " + value);
  }
  for (const std::string& problem : problems) std::printf("%s\n", problem.c_str());
  if (problems.empty()) std::printf("ok\n");
  return problems.empty() ? 0 : 1;
}
