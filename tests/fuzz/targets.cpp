#include "tests/fuzz/targets.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>

#include <opencv2/core.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/resource_folder.h"
#include "data/formats/data_yaml.h"
#include "data/formats/recognize.h"
#include "data/image/darknet_image.h"
#include "data/image/jpeg.h"
#include "data/image/stored_file.h"
#include "data/image/window.h"
#include "detect/outputs/coco_ids.h"
#include "detect/outputs/written_files.h"
#include "detect/sources/source.h"
#include "formats/darknet/import.h"
#include "formats/darknet/trained.h"
#include "formats/download/fetch.h"
#include "formats/foreign_weights.h"
#include "formats/onnx/metadata.h"
#include "formats/weights.h"
#include "layers/model/reader.h"
#include "tests/environment.h"
#include "tests/formats/small_cfg.h"
#include "tests/fuzz/contents.h"
#include "tests/fuzz/mutator.h"
#include "tests/paths.h"
#include "train/config/config.h"
#include "train/report/metrics_csv.h"
#include "train/report/page.h"
#include "train/run/checkpoint.h"
#include "tune/search_folder.h"
#include "tune/trial.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

const char* const words[] = {"-1",
                             "0",
                             "1",
                             "65536",
                             "2147483648",
                             "18446744073709551616",
                             "1e999",
                             "1e300",
                             "-1e300",
                             "1e-320",
                             "nan",
                             "inf",
                             "0x10",
                             ".",
                             ",",
                             "=",
                             "[",
                             "]",
                             "{",
                             "}",
                             "<",
                             ">",
                             "\"",
                             "'",
                             "#",
                             ":",
                             "\n",
                             "\r\n",
                             "\t",
                             "\xff",
                             "\xEF\xBB\xBF",
                             "null",
                             "true",
                             "../",
                             "&amp;",
                             "*a",
                             "&a ",
                             "- ",
                             "[[[[[[[[[[[[[[[["};

/// Images of more are refused: decoding them takes seconds, and the memory of several searches.
constexpr uint64_t most_pixels = 1 << 20;

void put(const fs::path& file, const std::string& content) {
  fs::create_directories(file.parent_path());
  fs::remove(file);  // a file that is cut to nothing and written again waits for the disk on ext4
  std::ofstream(file, std::ios::binary) << content;
}

void prepare_image(const fs::path& file) {
  put(file, encoded(".png", CV_8UC3));
}

/// What --data names: recognized, each split of it read, and its options printed and read again, as a run's folder has them.
void read_named_data(const fs::path& place) {
  const RecognizedData data = recognize_data(place.string());
  data.text();
  for (const Split split : given_splits(data.options)) read_dataset(data.options, split);
  DataOptions again;
  read_config(YamlDocument::parse(print_config(data.options), "printed").root(), again);
}

/// All of these; that one refuses the file keeps none of the others from reading it.
void read_each(const std::vector<std::function<void()>>& reads) {
  std::exception_ptr refusal;
  for (const auto& read : reads) {
    try {
      read();
    } catch (const InputError&) {
      refusal = std::current_exception();
    }
  }
  if (refusal) std::rethrow_exception(refusal);
}

/// A split of this format that reads `place`, and what the folder is taken for without its options.
void read_labels(const fs::path& folder, const char* format, const char* place,
                 std::vector<std::string> classes) {
  DataOptions options;
  options.format = &dataset_format(format);
  options.root = folder.string();
  options.train = place;
  options.classes = std::move(classes);
  try {
    read_named_data(folder);
  } catch (const InputError&) {  // not every folder here can be recognized
  }
  for (const bool lenient : {true, false}) read_dataset(options, Split::train, lenient);
}

/// Labels in JSON: of a file for all images, or for each.
void add_json_formats(std::vector<FuzzTarget>& targets) {
  const auto add = [&](const char* format, const char* file, const char* image, const char* place,
                       const std::string& labels) {
    targets.push_back({format,
                       file,
                       {labels},
                       words,
                       [image](const fs::path& folder) {
                         prepare_image(folder / image);
                         put(folder / "meta.json", R"({"classes": [{"title": "cat"}, {"title": "dog"}]})");
                       },
                       [format, place](const fs::path& folder) {
                         read_labels(folder, format, place, {"cat", "dog"});
                       }});
  };
  add("labelme", "a.json", "a.png", ".",
      R"({"shapes": [{"label": "cat", "points": [[1, 2], [12, 20]], "shape_type":
    "rectangle"}, {"label": "dog", "points": [[1, 1], [9, 1], [5, 7]], "shape_type": "polygon"}, {"label": "dog",
    "points": [[9, 9], [9, 12]], "shape_type": "circle"}], "imagePath": "a.png", "imageHeight": 24, "imageWidth": 32})");
  add("via", "t.json", "a.png", "t.json",
      R"({"a.png1": {"filename": "a.png", "regions": [{"shape_attributes": {"name":
    "rect", "x": 1, "y": 2, "width": 9, "height": 9}, "region_attributes": {"class": "cat"}}, {"shape_attributes":
    {"name": "polygon", "all_points_x": [1, 9, 5], "all_points_y": [1, 1, 7]}, "region_attributes": {"class":
    {"dog": true}}}, {"shape_attributes": {"name": "ellipse", "cx": 9, "cy": 9, "rx": 3, "ry": 2, "theta": 1},
    "region_attributes": {"class": "dog"}}]}})");
  add("createml", "t.json", "a.png", "t.json",
      R"([{"image": "a.png", "annotations": [{"label": "cat", "coordinates":
    {"x": 9, "y": 9, "width": 4, "height": 5}}]}])");
  add("supervisely", "train/ann/a.png.json", "train/img/a.png", "train",
      R"({"size": {"height": 24, "width": 32},
    "objects": [{"classTitle": "cat", "geometryType": "rectangle", "points": {"exterior": [[1, 2], [12, 20]]}}]})");
  add("datumaro", "t.json", "a.png", "t.json",
      R"({"categories": {"label": {"labels": [{"name": "cat"}, {"name": "dog"}]}},
    "items": [{"id": "a", "annotations": [{"type": "bbox", "label_id": 1, "bbox": [1, 2, 9, 9]}, {"type": "polygon",
    "label_id": 0, "points": [1, 1, 9, 1, 5, 7]}], "image": {"path": "a.png", "size": [24, 32]}}]})");
}

/// Instead of the project's configs/.
class ResourceFolder {
 public:
  explicit ResourceFolder(const fs::path& folder) { set_resource_folder(folder); }
  ~ResourceFolder() { set_resource_folder(before_); }

 private:
  const fs::path before_ = resource_folder();
};

/// What commands keep for themselves, in folders that may come from somebody else.
void add_own_files(std::vector<FuzzTarget>& targets) {
  const auto nothing = [](const fs::path&) {};
  targets.push_back({"overrides",
                     "start",
                     {"train.epochs=3\noptimizer.rate=0.5\n"},
                     words,
                     [](const fs::path& folder) { put(folder / "run.yaml", run_yamls()[0]); },
                     [](const fs::path& folder) {
                       Overrides overrides;
                       for (const TextLine& line : read_lines(folder / "start"))
                         overrides.assignments.push_back(line.text);
                       load_run_config(folder / "run.yaml", overrides);
                     }});
  targets.push_back({"written",
                     ".brightnet-detect",
                     {"- a.jpg\n- b/c.txt\n- a.jpg\n"},
                     words,
                     [](const fs::path& folder) { put(folder / "a.jpg", ""); },
                     [](const fs::path& folder) {
                       WrittenFiles files(folder, "--out");
                       files.place("a.jpg");
                       files.remove_the_rest();
                     }});
  targets.push_back({"page", "report.html", {page()}, words, nothing, [](const fs::path& folder) {
                       const Page read = Page::read(read_file(folder / "report.html"));
                       read.html();
                       if (read.section("Classes").is_null()) throw InputError("not what was written");
                     }});
  targets.push_back(
      {"sha256",
       "brightnet/weights/net.weights.sha256",
       {"0ca932b9ae8e9affe4ee774307405ccd858deb0c2c271244ed50025c05131d1b  net.weights\n"},
       words,
       [](const fs::path& folder) { put(folder / "brightnet/weights/net.weights", "not quite weights"); },
       [](const fs::path& folder) {
         Environment environment;
         environment.set("XDG_CACHE_HOME", folder.string());
         PublishedWeights weights;
         weights.file = "net.weights";
         weights.address = "http://127.0.0.1:9/";
         fetch_weights(weights);
       }});
  targets.push_back({"published",
                     "weights.yaml",
                     {read_file(source_dir() / "configs/weights.yaml")},
                     words,
                     [](const fs::path& folder) { put(folder / "net.weights", "some"); },
                     [](const fs::path& folder) {
                       const ResourceFolder here(folder);
                       find_published_weights("net");
                       recognize_published_weights(folder / "net.weights");
                     }});
  targets.push_back({"sources",
                     "list.txt",
                     {"a.png\nb.mp4\n./a.png\n"},
                     words,
                     [](const fs::path& folder) { prepare_image(folder / "a.png"); },
                     [](const fs::path& folder) {
                       const auto source = open_source((folder / "list.txt").string());
                       for (Frame frame; source->next(frame);) {
                       }
                     }});
}

std::vector<FuzzTarget> make_targets() {
  const auto nothing = [](const fs::path&) {};
  const auto with_image = [](const char* file) {
    return [file](const fs::path& folder) { prepare_image(folder / file); };
  };
  set_resource_folder(source_dir() / "configs");
  std::vector<FuzzTarget> targets;
  targets.push_back({"cfg", "net.cfg", {small_cfg}, words, nothing, [](const fs::path& folder) {
                       const DarknetImport read =
                           import_darknet_text(read_file(folder / "net.cfg"), (folder / "net.cfg").string());
                       read.model_yaml();
                       imported_model(read, 3);
                     }});
  targets.push_back({"weights",
                     "net.weights",
                     {darknet_weights()},
                     words,
                     [](const fs::path& folder) {
                       put(folder / "net.cfg", small_cfg);
                       put(folder / "two.names", "cat\ndog\n");
                       put(folder / "three.names", "cat\ndog\nbird\n");
                     },
                     [](const fs::path& folder) {
                       const fs::path weights = folder / "net.weights";
                       const fs::path cfg = folder / "net.cfg";
                       read_each({[&] { refuse_foreign_weights(weights); },
                                  [&] { is_darknet_weights(weights); },
                                  [&] {
                                    read_darknet_trained({cfg, weights, folder / "two.names", true, {}});
                                  },
                                  [&] {
                                    read_darknet_trained({cfg, weights, {}, false, {}});
                                  }});
                       try {
                         read_darknet_trained({cfg, weights, folder / "three.names", false, {}});
                       } catch (const InputError&) {  // there are two classes
                       }
                     }});
  targets.push_back({"names",
                     "obj.names",
                     {"cat\ndog\n", "classes = 2\nnames = obj.names\n"},
                     words,
                     nothing,
                     [](const fs::path& folder) { read_darknet_names(folder / "obj.names"); }});
  targets.push_back(
      {"safetensors", "net.safetensors", own_weights(), words, nothing, [](const fs::path& folder) {
         refuse_foreign_weights(folder / "net.safetensors");
         describe_weights(folder / "net.safetensors");
         const TrainedModel trained = load_trained_model(folder / "net.safetensors");
         // Into a network of other classes and of grey images, as fine-tuning does.
         const Model other = parse_model(YamlDocument::parse(trained.model.yaml(), "model"),
                                         trained.model.classes + 1, {}, 1);
         const ParameterLayout layout(other);
         std::vector<float> values(layout.floats());
         ChannelSources sources;
         for (const ParameterEntry& entry : layout.entries()) {
           if (entry.shape.empty() || trained.layout.find(entry.name) == nullptr) continue;
           std::vector<int>& channels = sources[entry.name];
           for (int64_t i = 0; i < entry.shape[0]; ++i)
             channels.push_back(i < trained.layout.find(entry.name)->shape[0] ? static_cast<int>(i) : -1);
         }
         load_matching_weights(folder / "net.safetensors", layout, values, sources);
         load_matching_weights(folder / "net.safetensors", layout, values, {}, {"conv1.weight"});
       }});
  targets.push_back({"state", "run.state", states(), words, nothing, [](const fs::path& folder) {
                       read_state(folder / "run.state");
                       static const std::unique_ptr<Backend> backend = make_cpu_backend();
                       static std::vector<float> values(16);
                       load_state(folder / "run.state", {{"values", values.data(), 16}}, "1234", *backend);
                     }});
  targets.push_back({"run", "run.yaml", run_yamls(), words, nothing, [](const fs::path& folder) {
                       const RunConfig config = load_run_config(folder / "run.yaml", {}, false);
                       config.where("train.batch");
                       put(folder / "again.yaml", print_config(config));
                       compare(config, load_run_config(folder / "again.yaml", {}, false));
                     }});
  targets.push_back({"data",
                     "data.yaml",
                     {ultralytics_yaml, data_section, std::string("model: demo\ndata: {root: images}\n"),
                      std::string("names: [cat, dog]\npath: images\ntrain: train\n")},
                     words,
                     [](const fs::path& folder) {
                       for (const char* split : {"train", "test"}) {
                         prepare_image(folder / "images" / split / "a.png");
                         put(folder / "labels" / split / "a.txt",
                             "0 0.5 0.5 0.25 0.25\n1 0.25 0.75 0.5 0.125\n");
                       }
                       put(folder / "images/classes.txt", "cat\ndog\n");
                     },
                     [](const fs::path& folder) {
                       is_data(folder / "data.yaml");
                       read_named_data(folder / "data.yaml");
                     }});
  targets.push_back({"model", "model.yaml", models(), words, nothing, [](const fs::path& folder) {
                       Model model = load_model(folder / "model.yaml", 2);
                       forward_flops(model, model.size);
                       parse_model(YamlDocument::parse(model.yaml(), "again"), 2);
                     }});
  targets.push_back({"yolo",
                     "labels/a.txt",
                     {"0 0.5 0.5 0.25 0.25\n1 0.25 0.75 0.5 0.125\n"},
                     words,
                     with_image("images/a.png"),
                     [](const fs::path& folder) {
                       read_labels(folder, "yolo", "images", {"cat", "dog"});
                     }});
  targets.push_back({"voc",
                     "Annotations/a.xml",
                     {voc_xml},
                     words,
                     [](const fs::path& folder) {
                       prepare_image(folder / "JPEGImages/a.png");
                       put(folder / "train.txt", "a\n");
                     },
                     [](const fs::path& folder) {
                       read_labels(folder, "voc", "train.txt", {"cat", "dog"});
                     }});
  targets.push_back(
      {"coco", "train.json", {coco_json}, words, with_image("a.png"), [](const fs::path& folder) {
         read_labels(folder, "coco", "train.json", {});
       }});
  targets.push_back(
      {"kitti",
       "training/label_2/a.txt",
       {"Car 0.00 0 -1.58 1 2 12 20 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59\n"
        "DontCare -1 -1 -10 3 3 9 9 -1 -1 -1 -1000 -1000 -1000 -10\n"},
       words,
       with_image("training/image_2/a.png"),
       [](const fs::path& folder) { read_labels(folder, "kitti", "training/image_2", {"Car"}); }});
  targets.push_back(
      {"csv",
       "train.csv",
       {"filename,width,height,class,xmin,ymin,xmax,ymax\na.png,32,24,cat,1,2,12,20\na.png,32,24,"
        "\"d, og\",3,3,9,9\n"},
       words,
       with_image("a.png"),
       [](const fs::path& folder) { read_labels(folder, "csv", "train.csv", {}); }});
  add_json_formats(targets);
  const auto darknet_files = [](const fs::path& folder) {
    prepare_image(folder / "images/a.png");
    put(folder / "images/a.txt", "0 0.5 0.5 0.25 0.25\n1 0.25 0.75 0.5 0.125\n");
    put(folder / "train.txt", "images/a.png\n");
    put(folder / "obj.names", "cat\ndog\n");
    put(folder / "obj.data", "classes = 2\ntrain = train.txt\nvalid = train.txt\nnames = obj.names\n");
  };
  const auto read_darknet = [](const fs::path& folder) {
    const std::string list = (folder / "train.txt").string();
    read_each({[&] { read_named_data(folder / "obj.data"); }, [&] { read_named_data(list + ',' + list); }});
  };
  targets.push_back(
      {"obj_data",
       "obj.data",
       {"classes = 2\ntrain = train.txt\nvalid = train.txt\nnames = obj.names\nbackup = backup/\n"},
       words,
       darknet_files,
       read_darknet});
  targets.push_back(
      {"list", "train.txt", {"images/a.png\n./images/a.png\n"}, words, darknet_files, read_darknet});
  targets.push_back({"onnx", "net.onnx", onnx_files(), words, nothing, [](const fs::path& folder) {
                       read_onnx_metadata(folder / "net.onnx");
                       parse_onnx_metadata(read_file(folder / "net.onnx"), "net.onnx");
                       is_quantized_onnx(folder / "net.onnx");
                       onnx_batch(folder / "net.onnx");
                     }});
  targets.push_back({"metrics", "metrics.csv", {metrics_csv}, words, nothing, [](const fs::path& folder) {
                       const MetricsTable table = read_metrics_csv(folder / "metrics.csv");
                       table.column("AP");
                       table.comparable_after();
                     }});
  targets.push_back({"search",
                     "state/search.json",
                     {search_json},
                     words,
                     [](const fs::path& folder) { put(folder / "trials.csv", trials_csv()); },
                     [](const fs::path& folder) {
                       const SearchPlan plan = read_plan(folder);
                       SearchFolder(folder, plan, "model: demo\ntrain: {}\n");
                     }});
  targets.push_back({"trials", "trials.csv", {trials_csv()}, words, nothing, [](const fs::path& folder) {
                       best_of(read_trials(folder / "trials.csv", searched_keys()));
                     }});
  targets.push_back({"coco_ids", "val.json", {coco_json}, words, nothing, [](const fs::path& folder) {
                       CocoIds(folder / "val.json", {"cat", "dog"});
                     }});
  targets.push_back(
      {"image", "a.jpg", images(), words, nothing, [](const fs::path& folder) {
         const fs::path file = folder / "a.jpg";
         read_each({[&] { image_info(file, most_pixels); }, [&] { image_size(file, most_pixels); },
                    [&] { has_end_mark(file); }, [&] { jpeg_is_whole(read_stored(file, 0, whole_file)); },
                    [&] { read_image(file, {}, 1, most_pixels); },
                    [&] { read_image(file, {}, 3, most_pixels); },
                    [&] {
                      read_image(file, {4, 4}, 3, most_pixels);
                    },
                    [&] { read_darknet_image(file, 3, most_pixels); },
                    [&] { check_pixels(file, read_stored(file, 0, whole_file), most_pixels); }});
         read_image_window(file, {}, {4, 4, 9, 9});
       }});
  targets.push_back({"tar", "train/0.tar", archives(), words, nothing, [](const fs::path& folder) {
                       read_labels(folder, "yolo", "train", {"cat", "dog"});
                       for (const TarMember& member : tar_members(folder / "train/0.tar"))
                         read_stored(folder / "train/0.tar" / member.name, 0, 64);
                     }});
  add_own_files(targets);
  return targets;
}

}  // namespace

void FuzzTarget::write(const fs::path& folder, const std::string& content) const {
  put(folder / file, content);
}

std::vector<std::string> FuzzTarget::found() const {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(source_dir() / "tests/fuzz/corpus" / name, none))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> contents;
  for (const fs::path& file_found : files) contents.push_back(read_file(file_found));
  return contents;
}

std::string FuzzTarget::input(uint64_t number) const {
  return Mutator(number, tokens).mutate(corpus[number % corpus.size()]);
}

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> targets = make_targets();
  return targets;
}

const FuzzTarget& fuzz_target(const std::string& name) {
  if (name == planted_target().name) return planted_target();
  for (const FuzzTarget& target : fuzz_targets()) {
    if (target.name == name) return target;
  }
  throw InputError("there is no target '" + name + "'", "", "--list names them.");
}

const FuzzTarget& planted_target() {
  static const FuzzTarget target{"planted",
                                 "a.txt",
                                 {"0123456789\n"},
                                 words,
                                 [](const fs::path&) {},
                                 [](const fs::path& folder) {
                                   const std::string text = read_file(folder / "a.txt");
                                   if (text.find("65536") != std::string::npos) std::abort();
                                   if (text.find("nan") != std::string::npos)
                                     throw std::runtime_error("planted");
                                   if (text.find("null") != std::string::npos)
                                     std::this_thread::sleep_for(std::chrono::hours(1));
                                 }};
  return target;
}

}  // namespace brightnet::testing
