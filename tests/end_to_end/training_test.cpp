// Whole runs of the program: training, evaluation, detection, and the answers.
#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>

#include <nlohmann/json.hpp>

#include "detect/evaluate/metrics.h"
#include "formats/safetensors.h"
#include "tests/end_to_end/runs.h"
#include "tests/train/small_weights.h"
#include "train/report/metrics_csv.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST_F(Runs, TrainEvaluateAndDetect) {
  // From weights that find something everywhere, so that there is something to compare.
  write_small_weights(run_);
  const ProgramResult trained =
      run(train({"--weights", "weights.safetensors"}, {"train.epochs=3", "optimizer.rate=0.001"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("runs/run/weights/best.safetensors"), std::string::npos) << trained.err;
  const std::string log = file("runs/run/train.log");
  EXPECT_NE(log.find("epoch 3/3"), std::string::npos);
  std::istringstream said(trained.err + trained.out);
  for (std::string line; std::getline(said, line);)
    EXPECT_NE(log.find(line), std::string::npos) << "said, but not in train.log: " << line;
  EXPECT_EQ(trained.out.find("AP -"), std::string::npos) << trained.out;
  EXPECT_NE(trained.err.find("  val loss "), std::string::npos) << trained.err;

  const std::string weights = "runs/run/weights/best.safetensors";
  const ProgramResult evaluated = run(
      {"eval", "run.yaml", "--weights", weights, "--json", "eval.json", "--set", "train.log_every=0.000001"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const Json metrics = Json::parse(file("eval.json"));
  for (const char* key : {"AP", "AP50", "AP75", "APs", "APm", "APl", "AR", "per_class", "images"}) {
    EXPECT_TRUE(metrics.contains(key)) << key;
  }
  // What the file holds is what the run scored when it called it the best.
  const MetricsTable table = read_metrics_csv(run_.folder() / "runs/run/metrics.csv");
  const auto best_epoch = std::stoul(load_trained_model(run_.folder() / weights).training.at("epoch"));
  ASSERT_EQ(table.rows.size(), 3u);
  ASSERT_GT(metrics["AP50"], 0);
  for (const char* key : {"AP", "AP50", "AP75", "AR"}) {
    const double evaluated_key = metrics[key];
    EXPECT_NEAR(table.rows.at(best_epoch - 1)[static_cast<size_t>(table.column(key))], evaluated_key,
                1e-5 * evaluated_key)
        << key;
  }
  const auto& best_row = table.rows.at(best_epoch - 1);
  for (const auto& [column, part] : {std::pair{"val_box", "box"},
                                     {"val_objectness", "objectness"},
                                     {"val_class", "class"},
                                     {"val_loss", "total"}}) {
    const double loss = metrics["loss"][part];
    EXPECT_GT(loss, 0) << part;
    EXPECT_NEAR(best_row[static_cast<size_t>(table.column(column))], loss, 1e-5 * loss) << part;
  }
  for (const char* key : {"precision", "recall"}) {
    EXPECT_NEAR(best_row[static_cast<size_t>(table.column(key))], metrics[key].get<double>(), 1e-5) << key;
  }
  EXPECT_NEAR(best_row[static_cast<size_t>(table.column("ap_square"))],
              metrics["per_class"][1]["AP"].get<double>(), 1e-5);
  EXPECT_NE(evaluated.err.find("evaluating 4/4 images"), std::string::npos) << evaluated.err;
  EXPECT_EQ(metrics["images"], 4);
  EXPECT_EQ(metrics["per_class"][1]["name"], "square");
  EXPECT_NE(evaluated.out.find("square"), std::string::npos);

  // The weights alone are enough, from any directory.
  fs::copy(run_.folder() / weights, run_.folder() / "alone.safetensors");
  const ProgramResult detected =
      run({"detect", "--weights", "alone.safetensors", "--source", "data/images/val", "--conf", "0.001",
           "--json", "found.json", "--out", "pictures"});
  ASSERT_EQ(detected.code, 0) << detected.err;
  const Json found = Json::parse(file("found.json"));
  ASSERT_EQ(found.size(), 4u);
  const Dataset val = read_dataset(run_.load().data, Split::val);
  DetectionEvaluator evaluator(val.classes);
  for (size_t i = 0; i < val.images.size(); ++i) {
    const Json& image = found[i];
    const ImageRecord& record = val.images[i];
    const fs::path name = fs::path(image["file"].get<std::string>()).filename();
    EXPECT_EQ(name, fs::path(record.file).filename());
    EXPECT_EQ(image["width"], 64);
    EXPECT_EQ(image["height"], 64);
    EXPECT_TRUE(fs::exists(run_.folder() / "pictures" / name));
    std::vector<ScoredBox> boxes;
    for (const auto& detection : image["detections"]) {
      const auto box = detection["box"].get<std::vector<float>>();
      EXPECT_GE(box[0], 0);
      EXPECT_GE(box[1], 0);
      EXPECT_LE(box[2], 64);
      EXPECT_LE(box[3], 64);
      EXPECT_LT(box[0], box[2]);
      EXPECT_LT(box[1], box[3]);
      EXPECT_EQ(detection["name"], detection["class"] == 0 ? "circle" : "square");
      boxes.push_back({box[0], box[1], box[2], box[3], detection["class"], detection["score"]});
    }
    evaluator.add(record.id, boxes, record.annotations);
  }
  // `detect` finds what `eval` scored.
  const Metrics of_detections = evaluator.finish();
  EXPECT_NEAR(of_detections.AP50, metrics["AP50"].get<double>(), 1e-3 * of_detections.AP50);
  EXPECT_NEAR(of_detections.AR, metrics["AR"].get<double>(), 1e-3 * of_detections.AR);
}

TEST_F(Runs, EndWithWhatTheirCurvesSay) {
  // The validation split has too few objects to say anything.
  const ProgramResult trained =
      run(train({}, {"train.epochs=1", "optimizer.rate=1e-20", "data.val=images/train"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  for (const std::string& text : {trained.out, file("runs/run/train.log"), file("runs/run/report.html")})
    EXPECT_NE(text.find("Next to nothing was detected"), std::string::npos) << text;
}

TEST_F(Runs, NeverOverwriteOneAnother) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  const std::string log = file("runs/run/train.log");
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  EXPECT_EQ(file("runs/run/train.log"), log);
  EXPECT_TRUE(fs::exists(run_.folder() / "runs/run-2/weights/best.safetensors"));
}

TEST_F(Runs, RefuseToGoOnAsSomethingElse) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  const ProgramResult other = run({"train", "--resume", "runs/run", "--set", "optimizer.rate=0.5"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("optimizer.rate"), std::string::npos) << other.err;
  EXPECT_EQ(run({"train", "--resume", "runs/run", "--set", "loader.workers=0"}).code, 0);
}

TEST_F(Runs, SayInWhatAnEditedConfigurationDiffersFromTheirOwn) {
  const std::string settings =
      "optimizer: {kind: sgd, rate: 0.02}\nschedule: {warmup: 1}\nema: {decay: 0.9, ramp: 4}\n"
      "head: {anchors: auto}\ntrain: {size: 64, batch: 4, epochs: ";
  run_.write_config(settings + "1}\nloader: {workers: 1}\n");
  ASSERT_EQ(run({"train", "run.yaml"}).code, 0);
  const ProgramResult same = run({"train", "run.yaml", "--resume"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.err.find("differs"), std::string::npos) << same.err;

  run_.write_config(settings + "9}\nloader: {workers: 2}\n");
  std::string model = small_model;
  model.replace(model.find("filters: 8"), 10, "filters: 12");
  write_atomically(run_.folder() / "model.yaml", model);
  const ProgramResult edited = run({"train", "run.yaml", "--resume", "runs/run"});
  EXPECT_EQ(edited.code, 0) << edited.err;
  for (const char* words :
       {"train.epochs: 1 in the run, 9 in run.yaml", "loader.workers: 1 in the run, 2 in run.yaml",
        "by --set: loader.workers, train.epochs.", "model: not the one in run.yaml",
        "This run is finished: all its 1 epoch"}) {
    EXPECT_NE(edited.err.find(words), std::string::npos) << words << " in: " << edited.err;
  }
}

TEST_F(Runs, TakeSeveralValuesAfterOneSet) {
  run_.write_config("train: {size: 64, iterations: 4}\n");
  for (const auto& words :
       {std::vector<std::string>{"config", "--set", "train.epochs=7", "train.batch=3", "run.yaml"},
        {"config", "run.yaml", "--set", "train.epochs=7", "--set", "train.batch=3"},
        {"config", "run.yaml", "--set", "train.epochs=7", "train.batch=3"}}) {
    const ProgramResult shown = run(words);
    EXPECT_EQ(shown.code, 0) << shown.err;
    for (const char* line : {"epochs: 7 ", "batch: 3 "})
      EXPECT_NE(shown.out.find(line), std::string::npos) << line << " in: " << shown.out;
  }
  // A file of such a name is the configuration.
  fs::rename(run_.folder() / "run.yaml", run_.folder() / "lr=0.1.yaml");
  EXPECT_EQ(run({"config", "--set", "train.epochs=7", "lr=0.1.yaml"}).code, 0);
}

TEST_F(Runs, ChooseWhatTheConfigurationLeavesOpenAndSayWhy) {
  run_.write_config("train: {size: 64, iterations: 4}\n");
  const ProgramResult shown = run({"config", "run.yaml"});
  for (const char* line : {"batch: auto", "epochs: auto", "precision: auto", "warmup: auto", "workers: auto"})
    EXPECT_NE(shown.out.find(line), std::string::npos) << line << " in: " << shown.out;

  const ProgramResult trained = run({"train", "run.yaml"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string log = file("runs/run/train.log"), own = file("runs/run/config.yaml");
  for (const char* key :
       {"head.anchors", "train.batch", "train.micro_batch", "train.epochs", "train.precision",
        "train.patience", "optimizer.rate", "schedule.warmup", "schedule.power", "ema.decay", "ema.ramp",
        "augment.mosaic_off", "loader.workers", "loader.cache_mb", "evaluate.every"}) {
    EXPECT_NE(log.find(std::string("  ") + key), std::string::npos) << key << " in: " << log;
  }
  EXPECT_NE(log.find("12 training images"), std::string::npos) << log;
  EXPECT_NE(log.find("of the training boxes have one within a factor of 4"), std::string::npos) << log;
  // Who paints is decided by each machine that the run goes on on.
  EXPECT_FALSE(std::regex_search(own, std::regex("\n *(?!paint)[a-z_]+: auto"))) << own;
  EXPECT_NE(own.find("batch: 8 "), std::string::npos) << own;

  // It goes on with what it chose, and that is no difference.
  for (const std::vector<std::string>& more : {{}, std::vector<std::string>{"--set", "train.batch=auto"}}) {
    std::vector<std::string> arguments{"train", "run.yaml", "--resume"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult same = run(arguments);
    EXPECT_EQ(same.code, 0) << same.err;
    EXPECT_EQ(same.err.find("differs"), std::string::npos) << same.err;
  }
  EXPECT_EQ(file("runs/run/config.yaml"), own);
  const ProgramResult other = run({"train", "run.yaml", "--resume", "--set", "train.batch=6"});
  EXPECT_NE(other.err.find("train.batch = 8"), std::string::npos) << other.err;
}

TEST_F(Runs, ArePlannedAndMeasuredBeforeAnythingIsChosen) {
  run_.write_config("train: {size: 64}\n");
  const auto json = [&](const std::vector<std::string>& arguments) {
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return Json::parse(result.out);
  };
  EXPECT_EQ(json({"memory", "run.yaml", "--json", "-"})["batch"], 8) << "for 12 training images";
  EXPECT_EQ(json({"bench", "run.yaml", "--steps-only", "--seconds", "0.05", "--json", "-"})["results"].size(),
            1u);
  const ProgramResult unknown = run({"memory", "model.yaml", "--size", "64", "--json", "-"});
  EXPECT_EQ(Json::parse(unknown.out)["batch"], 64);
  EXPECT_NE(unknown.err.find("a batch of 64 is assumed"), std::string::npos) << unknown.err;
}

TEST_F(Runs, RefuseToGoOnWithContradictoryOptions) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  const auto refuses = [&](std::vector<std::string> more, const std::string& word) {
    more.insert(more.begin(), {"train", "--resume", "runs/run"});
    const ProgramResult result = run(more);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
  };
  refuses({"--weights", "runs/run/weights/last.safetensors"}, "--weights");
  refuses({"--weights-partial"}, "--weights-partial");
  refuses({"--out", "elsewhere"}, "--out");
  refuses({"--set", "train.batch=6"}, "train.batch = 4");
  EXPECT_EQ(run({"train", "--resume", "runs/run", "--out", "./runs/run/"}).code, 0);
}

TEST_F(Runs, SayThatTheyAreFinishedAndWhatTheyReached) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  const std::string state = file("runs/run/state/state.safetensors");
  const ProgramResult again = run({"train", "--resume", "runs/run"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("This run is finished"), std::string::npos) << again.err;
  for (const char* words : {"square", "precision", "best.safetensors"})
    EXPECT_NE(again.out.find(words), std::string::npos) << words << " in: " << again.out;
  EXPECT_EQ(again.err.find("Resuming"), std::string::npos) << again.err;
  EXPECT_EQ(file("runs/run/state/state.safetensors"), state);
}

TEST_F(Runs, TakeNoLargerBatchThanThereAreImages) {
  const ProgramResult trained = run(train({}, {"train.iterations=1", "train.batch=24"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("train.batch is 24 and there are 12 training images"), std::string::npos)
      << trained.err;
  EXPECT_EQ(
      run({"eval", "run.yaml", "--weights", "runs/run/weights/last.safetensors", "--batch", "1000000"}).code,
      0);
}

TEST_F(Runs, StartFromOtherWeights) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  // From a seed that draws other weights, and with a rate that leaves them as they are.
  const std::vector<std::string> settings{"train.iterations=1", "train.seed=7", "optimizer.rate=1e-20"};
  const std::string best = "runs/run/weights/best.safetensors";
  const ProgramResult second = run(train({"--weights", best, "--out", "second"}, settings));
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_NE(second.err.find("tensors loaded"), std::string::npos) << second.err;
  ASSERT_EQ(run(train({"--out", "fresh"}, settings)).code, 0);

  SafetensorsReader first(run_.folder() / best), taken(run_.folder() / "second/weights/last.safetensors"),
      drawn(run_.folder() / "fresh/weights/last.safetensors");
  int weights = 0;
  for (const auto& [name, info] : first.tensors()) {
    if (name.find("running_") != std::string::npos) continue;  // these follow the pictures
    const auto expected = first.read(name), actual = taken.read(name);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], 1e-6 * std::abs(expected[i])) << name;
    if (!name.ends_with(".weight")) continue;
    ++weights;
    EXPECT_NE(drawn.read(name), actual) << name << " would be the same without them";
  }
  EXPECT_EQ(weights, 6);
}

TEST_F(Runs, DetectSkipsWhatIsNoImageAndSaysSo) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  std::ofstream(run_.folder() / "data/images/val/broken.jpg") << "no image";
  const ProgramResult detected = run({"detect", "--weights", "runs/run/weights/last.safetensors", "--source",
                                      "data/images/val", "--json", "-"});
  EXPECT_EQ(detected.code, 0);
  EXPECT_EQ(Json::parse(detected.out).size(), 4u);
  EXPECT_NE(detected.err.find("broken.jpg"), std::string::npos) << detected.err;
  const ProgramResult single = run({"detect", "--weights", "runs/run/weights/last.safetensors", "--source",
                                    "data/images/val/broken.jpg", "--json", "-"});
  EXPECT_EQ(single.code, 2);
}

TEST_F(Runs, MemoryPrintsThePlanOfTheRun) {
  const ProgramResult planned = run({"memory", "model.yaml", "--batch", "4", "--size", "96", "--precision",
                                     "fp32", "--device-memory", "16MiB", "--json", "-"});
  ASSERT_EQ(planned.code, 0) << planned.err;
  const Json json = Json::parse(planned.out);
  size_t sum = 0;
  for (const char* part :
       {"parameters", "gradients", "optimizer", "average", "statistics", "control", "arena"}) {
    sum += json[part].get<size_t>();
  }
  EXPECT_EQ(json["peak_bytes"], sum);
  const int largest = json["largest_batch"];
  ASSERT_GT(largest, 4);
  const auto peak = [&](int batch) {
    return Json::parse(run({"memory", "model.yaml", "--batch", std::to_string(batch), "--size", "96",
                            "--precision", "fp32", "--json", "-"})
                           .out)["peak_bytes"]
        .get<size_t>();
  };
  EXPECT_LE(peak(largest), 16u << 20);
  EXPECT_GT(peak(largest + 1), 16u << 20);
}

TEST_F(Runs, BenchMeasuresEachPrecision) {
  const ProgramResult measured = run({"bench", "model.yaml", "--size", "64", "--batch", "2", "--seconds",
                                      "0.05", "--precision", "fp32,bf16", "--json", "-"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Json results = Json::parse(measured.out)["results"];
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1]["precision"], "bf16");
  for (const auto& result : results) {
    for (const char* key : {"images_per_s", "forward_ms", "backward_ms", "update_ms", "floor_ms",
                            "floor_ratio", "gflops", "peak_bytes"}) {
      EXPECT_GT(result[key].get<double>(), 0) << key;
    }
    EXPECT_EQ(result["layers"].size(), 8u);
  }
}

TEST_F(Runs, ConfigShowsEveryDefaultAndReadsBack) {
  const ProgramResult shown = run({"config", "run.yaml", "--set", "train.batch=8"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  for (const char* key : {"batch: 8", "optimizer:", "warmup:", "mosaic:", "cache_mb:", "patience:"}) {
    EXPECT_NE(shown.out.find(key), std::string::npos) << key;
  }
  write_atomically(run_.folder() / "shown.yaml", shown.out);
  EXPECT_EQ(run({"config", "shown.yaml"}).out, shown.out);
}

}  // namespace
}  // namespace brightnet::testing
