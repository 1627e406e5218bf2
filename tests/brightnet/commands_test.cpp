// What the commands of the program call, as another program does.

#include <gtest/gtest.h>

#include "brightnet/configuration.h"
#include "brightnet/data.h"
#include "brightnet/detect.h"
#include "brightnet/error.h"
#include "brightnet/evaluate.h"
#include "brightnet/export.h"
#include "brightnet/memory.h"
#include "brightnet/models.h"
#include "brightnet/quantize.h"
#include "core/files.h"
#include "core/json.h"
#include "kernels/cpu/quantized_convolution.h"
#include "tests/detect/clip.h"
#include "tests/formats/download/http_server.h"
#include "tests/formats/small_cfg.h"
#include "tests/logged.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Commands : public ::testing::Test {
 protected:
  Configuration run(std::vector<std::string> settings = {}) const {
    return {.config = run_.config().string(), .settings = std::move(settings)};
  }

  SmallRun run_;
};

TEST_F(Commands, AnswerTheSameAsTablesAndAsJson) {
  const Answer memory =
      plan_memory({.run = run({"train.batch=4", "train.micro_batch=2", "train.size=64"}), .device = "cpu"});
  const Json plan = Json::parse(memory.json);
  EXPECT_EQ(plan["batch"], 2);
  EXPECT_GT(plan["peak_bytes"], plan["parameters"]);
  EXPECT_NE(memory.text.find("Training, batch 2 at 64x64 in fp32"), std::string::npos) << memory.text;

  const DataCheck check = check_data(run());
  EXPECT_TRUE(check.usable);
  EXPECT_EQ(Json::parse(check.answer.json)["ok"], true);
  const std::string folder = (run_.folder() / "data").string();
  const Answer counted = count_data({.config = folder}, "val");
  EXPECT_EQ(counted.json, count_data({.data = folder}, "val").json) << "`config` may be the data set itself";
  EXPECT_EQ(Json::parse(counted.json)["images"], 4);
  EXPECT_THROW(count_data(run(), "vla"), InputError);
  EXPECT_EQ(Json::parse(fit_anchors(run(), 3, 64, 64).json)["anchors"].size(), 3u);
  EXPECT_EQ(fit_anchors({.data = folder}, 3, 64, 64).json, fit_anchors(run(), 3, 64, 64).json)
      << "no model needed";
  EXPECT_EQ(Json::parse(fit_anchors({.data = folder}).json)["anchors"].size(), 6u) << "yolov4-tiny's";
  EXPECT_EQ(Json::parse(describe_models().json)["models"].size(), named_models().size());
}

// Circles and squares are stretched with their pictures.
TEST_F(Commands, AnchorsAreForAnInputOfTheHeightAndTheWidthThatAreGiven) {
  const Json wide = Json::parse(fit_anchors(run(), 3, 32, 128).json)["anchors"],
             high = Json::parse(fit_anchors(run(), 3, 128, 32).json)["anchors"];
  ASSERT_EQ(wide.size(), 3u);
  ASSERT_EQ(high.size(), 3u);
  for (const Json& anchor : wide) EXPECT_GT(anchor[0], anchor[1]) << wide.dump();
  for (const Json& anchor : high) EXPECT_LT(anchor[0], anchor[1]) << high.dump();
}

// As darknet's calc_anchors, whose -width and -height are the network's.
TEST_F(Commands, AnchorsOfAModelAloneAreForItsOwnSizeWhichIsSaid) {
  const std::string stretched = with(with(small_cfg, "letter_box=1", "letter_box=0"), "random=1", "random=0");
  const std::string cfg = (run_.folder() / "small.cfg").string(), data = (run_.folder() / "data").string(),
                    yaml = (run_.folder() / "model.yaml").string();
  write_atomically(cfg, with(stretched, "width=64\nheight=64", "width=160\nheight=96"));
  const Answer of_model = fit_anchors({.model = cfg, .data = data});
  EXPECT_EQ(of_model.json, fit_anchors({.config = cfg, .data = data}).json);
  EXPECT_EQ(Json::parse(of_model.json)["size"], Json::parse("[96, 160]"));
  EXPECT_NE(of_model.text.find("for an input of 96x160 (height x width)"), std::string::npos)
      << of_model.text;

  const auto size = [](const Answer& anchors) { return Json::parse(anchors.json)["size"]; };
  EXPECT_EQ(size(fit_anchors({.model = yaml, .data = data})), 64);
  EXPECT_EQ(size(fit_anchors({.config = data, .model = yaml})), 64) << "`config` is the data set";
  EXPECT_EQ(size(fit_anchors({.model = yaml, .data = data}, 0, 32, 32)), 32);
  EXPECT_EQ(size(fit_anchors({.model = yaml, .data = data, .settings = {"train.size=96"}})), 96);
  EXPECT_EQ(size(fit_anchors(run())), 416) << "the run's";
}

TEST_F(Commands, WriteWhatTheyAreAskedFor) {
  const DividedData divided = divide_data(run(), {.folder = run_.folder() / "parts", .ratios = {.5, .5}});
  EXPECT_TRUE(divided.has_model);
  EXPECT_TRUE(fs::exists(divided.config));
  convert_data(run(), "coco", run_.folder() / "coco");
  EXPECT_TRUE(fs::exists(run_.folder() / "coco/annotations/instances_val.json"));
  EXPECT_THROW(convert_data(run(), "tar", run_.folder() / "tar"), InputError);
  draw_samples(run({"train.size=64"}), {.folder = run_.folder() / "show", .count = 2});
  EXPECT_TRUE(fs::exists(run_.folder() / "show/sheet.jpg"));
}

TEST_F(Commands, SamplesThatAreDrawnInTheDataSetsFolderAreNoData) {
  const Configuration all = run({"train.size=64", "data.train=images"});
  const std::string before = count_data(all, "train").json;
  for (const char* folder : {"runs/show", "pictures"})
    draw_samples(all, {.folder = run_.folder() / "data/images" / folder, .count = 2});
  EXPECT_EQ(count_data(all, "train").json, before);
}

TEST_F(Commands, AShortRunIsShownToItsEndAndALongOneAsItBegins) {
  const auto shown = [&](const std::string& name, int count, const std::string& epochs) {
    draw_samples(run({"train.size=64", "train.batch=4", "augment.mosaic=1", "augment.mosaic_off=0.5",
                      "train.epochs=" + epochs}),
                 {.folder = run_.folder() / name, .count = count});
    std::vector<std::string> pictures(static_cast<size_t>(count));
    for (const auto& file : fs::directory_iterator(run_.folder() / name)) {
      const std::string file_name = file.path().filename().string();
      if (file_name[0] == '0') pictures[std::stoul(file_name)] = read_file(file.path());
    }
    return pictures;
  };
  // 12 images in 3 steps: the last of them is plain, and the first two are of mosaics.
  const auto ten = shown("ten", 10, "100"), twelve = shown("twelve", 12, "100"), end = shown("end", 12, "1");
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_TRUE(i >= 10 || ten[i] == twelve[i]) << i;
    EXPECT_EQ(end[i] == twelve[i], i < 8) << i;
  }
}

// 14 filters are those of two anchors and two classes.
TEST_F(Commands, AModelOfFixedPredictionFiltersIsResolvedWithoutAListOfClasses) {
  const auto write_model = [&](const std::string& classes, const std::string& filters) {
    std::string model = small_model;
    for (size_t at = 0; (at = model.find("auto", at)) != std::string::npos; at += filters.size())
      model.replace(at, 4, filters);
    write_atomically(run_.folder() / "model.yaml", classes + model);
  };
  const fs::path data = run_.folder() / "data";
  write_atomically(data / "all.names", std::string("circle\nsquare\n"));
  write_atomically(data / "list.txt", fs::directory_iterator(data / "images/train")->path().string() + '\n');
  write_atomically(data / "all.data", std::string("train = list.txt\nvalid = list.txt\nnames = all.names\n"));
  const Configuration named =
      run({"data.format=darknet", "data.train=all.data", "data.val=all.data", "data.classes=[]"});
  write_model("classes: 2", "14");
  EXPECT_NO_THROW(resolve_configuration(named)) << "the model's own";
  write_model("", "14");
  EXPECT_NO_THROW(resolve_configuration(named)) << "those of the data";
  write_model("", "18");
  EXPECT_THROW(resolve_configuration(named), InputError);
  write_model("", "auto");
  EXPECT_NO_THROW(resolve_configuration(named));
}

TEST_F(Commands, BothPartsOfAFoldAreWritten) {
  const SmallRun twenty(20, 1);
  const Configuration folded{.config = twenty.config().string(),
                             .settings = {"data.fold=1/5", "data.val=\"\""}};
  convert_data(folded, "yolo", twenty.folder() / "yolo");
  shard_data(folded, twenty.folder() / "shards", 1'000'000);
  for (const char* name : {"yolo", "shards"}) {
    const std::string folder = (twenty.folder() / name).string();
    const auto images = [&](const char* split) {
      return Json::parse(count_data({.data = folder}, split).json)["images"].get<int>();
    };
    EXPECT_GT(images("val"), 0) << name;
    EXPECT_EQ(images("train") + images("val"), 20) << name;
  }
}

TEST_F(Commands, SplitsOfOtherClassesAreNotWrittenTogether) {
  const fs::path data = run_.folder() / "data";
  for (const std::string split : {"train", "val"}) {
    std::string list;
    for (const auto& image : fs::directory_iterator(data / "images" / split))
      list += image.path().string() + '\n';
    write_atomically(data / (split + ".txt"), list);
    write_atomically(data / (split + ".names"),
                     std::string(split == "train" ? "circle\nsquare\n" : "square\ncircle\n"));
    write_atomically(data / (split + ".data"),
                     "train = " + split + ".txt\nvalid = " + split + ".txt\nnames = " + split + ".names\n");
  }
  const Configuration darknets =
      run({"data.format=darknet", "data.train=train.data", "data.val=val.data", "data.classes=[]"});
  for (const char* name : {"converted", "shards"}) {
    try {
      if (name[0] == 'c') convert_data(darknets, "yolo", run_.folder() / name);
      if (name[0] == 's') shard_data(darknets, run_.folder() / name, 1'000'000);
      ADD_FAILURE() << name;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("data.val has other classes than data.train"), std::string::npos)
          << e.what();
    }
    EXPECT_FALSE(fs::exists(run_.folder() / name)) << "nothing is half written";
  }
}

TEST_F(Commands, ADetectionThatIsStoppedKeepsWhatItHas) {
  const fs::path weights = write_small_weights(run_);
  DetectionOptions options{.weights = {.weights = weights},
                           .source = (run_.folder() / "data/images/val").string(),
                           .device = "cpu",
                           .batch = 1,
                           .json = (run_.folder() / "found.json").string()};
  EXPECT_TRUE(detect_files(options));
  EXPECT_EQ(Json::parse(read_file(options.json)).size(), 4u);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(detect_files(options, [&] { return stop.get_token(); }));
  EXPECT_EQ(Json::parse(read_file(options.json)).size(), 1u);
}

TEST_F(Commands, DetectionSaysWhereItsPicturesAndCropsLie) {
  const fs::path found = run_.folder() / "found";
  const Logged logged;
  EXPECT_TRUE(detect_files({.weights = {.weights = write_small_weights(run_)},
                            .source = (run_.folder() / "data/images/val").string(),
                            .device = "cpu",
                            .confidence = 0.1f,
                            .max_objects = 2,
                            .out = found,
                            .save_crops = true}));
  for (const std::string& line :
       {"Pictures: " + found.string() + '\n', "Crops: " + (found / "crops").string() + '\n'})
    EXPECT_NE(logged.text().find(line), std::string::npos) << line << " is not in: " << logged.text();
  EXPECT_TRUE(fs::exists(found / "crops/circle") || fs::exists(found / "crops/square"));
}

TEST_F(Commands, DetectionTakesOnlyEverySoManiethFrameAndEndsAfterThoseItIsAskedFor) {
  write_clip(run_.folder() / "clip.avi", 7);
  DetectionOptions options{.weights = {.weights = write_small_weights(run_)},
                           .source = (run_.folder() / "clip.avi").string(),
                           .device = "cpu",
                           .json = (run_.folder() / "found.json").string()};
  const auto frames = [&](int every, int most) {
    options.every = every;
    options.frames = most;
    EXPECT_TRUE(detect_files(options));
    std::vector<int> numbers;
    for (const Json& frame : Json::parse(read_file(options.json)))
      numbers.push_back(frame["frame"].get<int>());
    return numbers;
  };
  EXPECT_EQ(frames(3, 0), (std::vector<int>{0, 3, 6}));
  EXPECT_EQ(frames(3, 2), (std::vector<int>{0, 3}));
}

// A header that promises pictures, and none.
TEST_F(Commands, AStreamThatGivesNoFrameTellsNobodyItsPassword) {
  HttpServer camera;
  camera.serve("/camera.y4m", {.body = "YUV4MPEG2 W64 H48 F25:1 Ip A1:1 C420jpeg\n"});
  const std::string address = camera.address("/camera.y4m"), host = address.substr(address.find("://") + 3);
  const Logged logged;
  std::string said;
  try {
    detect_files({.weights = {.weights = write_small_weights(run_)},
                  .source = "http://admin:secret@" + host,
                  .device = "cpu",
                  .json = (run_.folder() / "found.json").string()});
  } catch (const InputError& error) {
    said = error.what();
  }
  EXPECT_NE(said.find("none of the images could be read"), std::string::npos) << said;
  EXPECT_NE(said.find(address), std::string::npos) << said;
  EXPECT_EQ((said + logged.text()).find("secret"), std::string::npos) << said << logged.text();
}

TEST_F(Commands, ThatAnExportSuppressesByPlainIouIsSaidOfANetworkWithDiouNms) {
  TrainedModel trained = load_trained_model(write_small_weights(run_));
  const auto said = [&](NmsKind kind, const char* heads) {
    for (LayerDescription& layer : trained.model.layers) {
      if (auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) yolo->nms = kind;
    }
    const Logged logged;
    export_onnx(Weights(std::make_shared<const TrainedModel>(trained)), run_.folder() / "a.onnx",
                {.heads = heads});
    return logged.text().find("The model uses DIoU-NMS") != std::string::npos;
  };
  EXPECT_TRUE(said(NmsKind::diou, "nms"));
  EXPECT_FALSE(said(NmsKind::diou, "decoded"));
  EXPECT_FALSE(said(NmsKind::greedy, "nms"));
}

TEST_F(Commands, QuantisationLooksAtWhatTrainingSaw) {
  TrainedModel trained = load_trained_model(write_small_weights(run_));
  trained.training["tiles"] = "32,0.2";
  save_weights(run_.folder() / "tiles.safetensors", trained);
  const auto said = [&](const char* weights, std::vector<std::string> settings) {
    const Logged logged;
    quantize(Weights::open(run_.folder() / weights),
             {.data = run_.config().string(), .settings = std::move(settings), .images = 5});
    return logged.text();
  };
  const std::string whole = said("weights.safetensors", {}),
                    on_tiles = said("tiles.safetensors", {"data.tiles={size: 32, overlap: 0}"}),
                    without = said("tiles.safetensors", {});
  EXPECT_NE(whole.find("Calibrating on 5 of 12 training images"), std::string::npos) << whole;
  EXPECT_EQ(whole.find("tiles"), std::string::npos) << whole;
  // Four of each picture, and itself.
  EXPECT_NE(on_tiles.find("Calibrating on 5 of 60 tiles"), std::string::npos) << on_tiles;
  EXPECT_EQ(on_tiles.find("whole pictures: give"), std::string::npos) << on_tiles;
  EXPECT_NE(without.find("trained on tiles of larger pictures (32,0.2)"), std::string::npos) << without;
}

TEST_F(Commands, QuantisationTakesAFolderOfImagesWithoutLabels) {
  const Weights weights = Weights::open(write_small_weights(run_));
  const fs::path photos = run_.folder() / "photos";
  const auto quantized = [&](const QuantizationOptions& how) {
    const Logged logged;
    try {
      EXPECT_FALSE(quantize(weights, how).weights.trained().model.quantization.empty());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return logged.text();
  };
  const auto said_of = [&](const QuantizationOptions& how, const std::string& words) {
    const std::string said = quantized(how);
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  fs::create_directories(photos);
  said_of({.data = photos}, "photos: this folder has no images");
  fs::copy(run_.folder() / "data/images/train", photos);
  fs::copy(run_.folder() / "data/images/val", photos / "more");
  said_of({.data = photos}, "Calibrating on 16 of 16 images");
  said_of({.data = photos, .images = 5}, "Calibrating on 5 of 16 images");
  said_of({.data = photos, .settings = {"data.tiles={size: 32, overlap: 0}"}},
          "Calibrating on 80 of 80 tiles of the images");
  said_of({.data = run_.folder() / "data/images/train"}, "Calibrating on 12 of 12 images");
  if (cpu::has_int8_products()) said_of({.data = photos, .max_loss = 1}, "these images have no labels");
  write_atomically(photos / "broken.jpg", std::string("no picture"));
  said_of({.data = photos}, "broken.jpg");
}

TEST_F(Commands, QuantisationRefusesToLookAtNoImage) {
  const Weights weights = Weights::open(write_small_weights(run_));
  for (const int images : {0, -1}) {
    try {
      quantize(weights, {.data = run_.config().string(), .images = images});
      ADD_FAILURE() << images << " images are accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("must be at least 1"), std::string::npos) << error.what();
    }
  }
}

TEST_F(Commands, AReportOfWeightsHasThePlotsUnlessTheyAreNotWanted) {
  WeightsReportOptions options{.run = run(),
                               .weights = {.weights = write_small_weights(run_)},
                               .device = "cpu",
                               .no_plots = true,
                               .plots = run_.folder() / "plots"};
  Ranks ranks;
  EXPECT_EQ(Json::parse(report_weights(options, ranks).json)["images"], 4);
  EXPECT_FALSE(fs::exists(options.plots));
  options.no_plots = false;
  report_weights(options, ranks);
  EXPECT_TRUE(fs::exists(options.plots / "report.html"));
}

TEST_F(Commands, AReportSaysThatWeightsAreOfTiles) {
  WeightsReportOptions options{
      .run = run(), .weights = {.weights = write_small_weights(run_)}, .device = "cpu", .no_plots = true};
  const auto said = [&] {
    Ranks ranks;
    const Logged logged;
    report_weights(options, ranks);
    return logged.text();
  };
  EXPECT_EQ(said().find("tiles"), std::string::npos);
  TrainedModel trained = load_trained_model(options.weights.weights);
  trained.training["tiles"] = "32,0.2";
  save_weights(options.weights.weights, trained);
  EXPECT_NE(said().find("trained on tiles of larger pictures: --tiles 32,0.2 evaluates"), std::string::npos);
  const fs::path exported = run_.folder() / "weights.onnx";
  export_onnx(Weights::open(options.weights.weights), exported);
  EXPECT_EQ(Json::parse(describe_onnx(exported))["tiles"], "32,0.2");
  options.weights.weights = exported;
  EXPECT_NE(said().find("trained on tiles of larger pictures: --tiles 32,0.2 evaluates"), std::string::npos);
  const Logged detected;
  detect_files({.weights = {.weights = exported},
                .source = (run_.folder() / "data/images/val").string(),
                .json = (run_.folder() / "found.json").string()});
  EXPECT_NE(detected.text().find("pictures: --tiles 32,0.2 detects"), std::string::npos) << detected.text();
  options.run.settings = {"data.tiles={size: 32, overlap: 0}"};
  EXPECT_EQ(said().find("trained on tiles"), std::string::npos);
}

TEST_F(Commands, ThatScalesOfInt8AreNotUsedIsSaidUnlessAPrecisionIsGiven) {
  const Weights plain = Weights::open(write_small_weights(run_));
  const fs::path file = run_.folder() / "scaled.safetensors";
  save_weights(file, quantize(plain, {.data = run_.config().string(), .images = 3}).weights.trained());
  const auto said = [&](const fs::path& weights, const std::string& precision) {
    const Logged logged;
    Ranks ranks;
    Configuration data = run();
    data.precision = precision;
    report_weights({.run = data, .weights = {.weights = weights}, .device = "cpu", .no_plots = true}, ranks);
    detect_files({.weights = {.weights = weights},
                  .source = (run_.folder() / "data/images/val").string(),
                  .device = "cpu",
                  .precision = precision,
                  .json = (run_.folder() / "found.json").string()});
    size_t times = 0;
    const std::string words = "have the scales of int8, and are computed in fp32; --precision int8";
    for (size_t at = logged.text().find(words); at != std::string::npos;
         at = logged.text().find(words, at + 1))
      ++times;
    return times;
  };
  EXPECT_EQ(said(run_.folder() / "weights.safetensors", ""), 0u);
  EXPECT_EQ(said(file, ""), 2u) << "of the evaluation and of the detection";
  EXPECT_EQ(said(file, "fp32"), 0u);
  if (!cpu::has_int8_products()) return;
  EXPECT_EQ(said(file, "int8"), 0u);
}

TEST_F(Commands, QuantisationHeedsItsOptions) {
  const Weights weights = Weights::open(write_small_weights(run_));
  const auto made = [&](const auto& change) {
    QuantizationOptions options{.data = run_.config().string(), .images = 3};
    change(options);
    const QuantizedWeights quantized = quantize(weights, options);
    return std::pair(Json::parse(quantized.report.json), quantized.weights.trained().values);
  };
  const auto usual = made([](auto&) {});
  const auto symmetric = made([](QuantizationOptions& o) { o.symmetric = true; });
  EXPECT_NE(symmetric.first["ranges"], usual.first["ranges"]);
  const auto unequal = made([](QuantizationOptions& o) { o.equalize = false; });
  EXPECT_EQ(unequal.first["equalized_pairs"], 0);
  EXPECT_NE(usual.first["equalized_pairs"], 0);
  const auto biased = made([](QuantizationOptions& o) { o.correct_bias = false; });
  EXPECT_NE(biased.second, usual.second);
  EXPECT_EQ(biased.first["equalized_pairs"], usual.first["equalized_pairs"]);
}

}  // namespace
}  // namespace brightnet::testing
