// Weights, the detector, frames of files and videos, and pictures with boxes.
#include "brightnet/detector.h"

#include <algorithm>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "brightnet/frames.h"
#include "python/module.h"

namespace brightnet::python {

Image image_of(const ImageArray& array, bool bgr) {
  const auto side = [&](size_t axis) { return static_cast<int>(array.shape(axis)); };
  return {.pixels = array.data(),
          .height = side(0),
          .width = side(1),
          .channels = array.ndim() == 3 ? side(2) : 1,
          .bgr = bgr};
}

namespace {

/// Boxes (n × 4), scores and class numbers of one image's objects.
nb::tuple arrays_of(const std::vector<DetectedObject>& objects) {
  std::vector<float> boxes, scores;
  std::vector<int64_t> classes;
  for (const DetectedObject& object : objects) {
    boxes.insert(boxes.end(), {object.x1, object.y1, object.x2, object.y2});
    scores.push_back(object.score);
    classes.push_back(object.class_id);
  }
  const size_t count = objects.size();
  return nb::make_tuple(array_of(std::move(boxes), {count, 4}), array_of(std::move(scores), {count}),
                        array_of(std::move(classes), {count}));
}

using Boxes = nb::ndarray<const float, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using ScoreArray = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ClassArray = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object drawn(const ImageArray& array, const Boxes& boxes, const ScoreArray& scores,
                 const ClassArray& classes, const std::vector<std::string>& names) {
  std::vector<DetectedObject> objects;
  for (size_t i = 0; i < std::min({boxes.shape(0), scores.shape(0), classes.shape(0)}); ++i) {
    const float* const box = boxes.data() + 4 * i;
    objects.push_back(
        {box[0], box[1], box[2], box[3], static_cast<int>(classes.data()[i]), scores.data()[i]});
  }
  Picture picture;
  {
    const LibraryCall call;
    picture = draw_objects(image_of(array, false), objects, names);
  }
  return array_of(picture.pixels,
                  {static_cast<size_t>(picture.height), static_cast<size_t>(picture.width), size_t{3}});
}

nb::list detect(const Detector& detector, const std::vector<ImageArray>& arrays, bool bgr) {
  std::vector<Image> images;
  for (const ImageArray& array : arrays) images.push_back(image_of(array, bgr));
  std::vector<std::vector<DetectedObject>> found;
  {
    const LibraryCall call;
    found = detector.detect(images);
  }
  nb::list list;
  for (const auto& objects : found) list.append(arrays_of(objects));
  return list;
}

/// The next picture, its file and its number in a video, or None after the last.
nb::object next_of(Frames& frames) {
  Picture picture;
  {
    const LibraryCall call;
    picture = frames.next();
  }
  if (!picture.pixels) return nb::none();
  const nb::object pixels = array_of(
      picture.pixels, {static_cast<size_t>(picture.height), static_cast<size_t>(picture.width), size_t{3}});
  return nb::make_tuple(pixels, path_text(picture.file), picture.number);
}

struct OwnedDetector {
  Owned<Detector> detector;
};
struct OwnedFrames {
  Owned<Frames> frames;
};

}  // namespace

void add_detector(nb::module_& m) {
  nb::class_<Weights>(m, "Weights", "A network's description, its class names and its values in memory.")
      .def_prop_ro("model", [](const Weights& weights) { return weights.model(); })
      .def_prop_ro("classes", [](const Weights& weights) { return weights.classes(); })
      .def_prop_ro(
          "input_size",
          [](const Weights& weights) { return std::pair(weights.input_height(), weights.input_width()); })
      .def_prop_ro("channels", [](const Weights& weights) { return weights.channels(); })
      .def_prop_ro("parameters", [](const Weights& weights) { return weights.parameters(); })
      .def_prop_ro("training", [](const Weights& weights) { return weights.training(); });
  m.def(
      "weights_file",
      [](const std::filesystem::path& weights) {
        const LibraryCall call;
        return weights_file(weights);
      },
      nb::arg("weights"));
  m.def(
      "open_weights",
      [](const std::filesystem::path& weights, const std::filesystem::path& cfg,
         const std::filesystem::path& names, const std::vector<std::string>& classes) {
        const LibraryCall call;
        return Weights::open({weights, cfg, names, classes});
      },
      nb::arg("weights"), nb::arg("cfg"), nb::arg("names"), nb::arg("classes"));

  nb::class_<OwnedDetector>(m, "Detector")
      .def(
          "__init__",
          [](OwnedDetector* self, const Weights& weights, const std::string& device,
             const std::string& precision, float confidence, float nms, int max_objects,
             std::pair<int, int> size, int batch, const std::vector<std::string>& classes) {
            Owned<Detector> made;
            {
              const LibraryCall call;
              made.reset(new Detector(weights, {.device = {device, precision},
                                                .confidence = confidence,
                                                .nms = nms,
                                                .max_objects = max_objects,
                                                .height = size.first,
                                                .width = size.second,
                                                .batch = batch,
                                                .classes = classes}));
            }
            new (self) OwnedDetector{std::move(made)};
          },
          nb::arg("weights"), nb::arg("device"), nb::arg("precision"), nb::arg("confidence"), nb::arg("nms"),
          nb::arg("max_objects"), nb::arg("size"), nb::arg("batch"), nb::arg("classes"))
      .def(
          "detect",
          [](const OwnedDetector& self, const std::vector<ImageArray>& images, bool bgr) {
            return detect(*self.detector, images, bgr);
          },
          nb::arg("images"), nb::arg("bgr"));

  nb::class_<OwnedFrames>(m, "Frames")
      .def(
          "__init__",
          [](OwnedFrames* self, const Weights& weights, const std::filesystem::path& source, int frames,
             int every) {
            Owned<Frames> made;
            {
              const LibraryCall call;
              made.reset(new Frames(weights, source.string(), {.frames = frames, .every = every}));
            }
            new (self) OwnedFrames{std::move(made)};
          },
          nb::arg("weights"), nb::arg("source"), nb::arg("frames"), nb::arg("every"))
      .def_prop_ro("is_image", [](const OwnedFrames& self) { return self.frames->is_image(); })
      .def_prop_ro("live", [](const OwnedFrames& self) { return self.frames->live(); })
      .def("next", [](OwnedFrames& self) { return next_of(*self.frames); });

  m.def("draw_objects", &drawn, nb::arg("image"), nb::arg("boxes"), nb::arg("scores"), nb::arg("classes"),
        nb::arg("names"));
  m.def(
      "encode_png",
      [](const ImageArray& array) {
        std::vector<uint8_t> bytes;
        {
          const LibraryCall call;
          bytes = encode_png(image_of(array, false));
        }
        return nb::bytes(bytes.data(), bytes.size());
      },
      nb::arg("image"));
}

}  // namespace brightnet::python
