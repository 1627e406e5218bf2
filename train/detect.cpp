#include "train/detect.h"

#include <algorithm>
#include <cmath>

#include "data/augment/sample.h"
#include "data/darknet_image.h"
#include "data/image.h"
#include "data/loader.h"
#include "data/resample.h"
#include "train/evaluate.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The image as the network was trained to see it: placed in the square input, with the loader's fill around
/// it.
void place_image(const cv::Mat& image, const InputFit& fit, uint8_t* pixels, Resampler& resample) {
  const size_t stride = 3 * static_cast<size_t>(fit.size);
  std::fill(pixels, pixels + stride * static_cast<size_t>(fit.size), fill_value);
  const Placement placement = place(image.cols, image.rows, fit);
  const int left = static_cast<int>(placement.offset_x), top = static_cast<int>(placement.offset_y);
  const PixelBlock shown{pixels + static_cast<size_t>(top) * stride + 3 * static_cast<size_t>(left), stride,
                         static_cast<int>(std::lround(placement.scale_x * static_cast<float>(image.cols))),
                         static_cast<int>(std::lround(placement.scale_y * static_cast<float>(image.rows)))};
  const ImageView view{image.data, image.step, image.cols, image.rows, 0, 0, image.cols, image.rows};
  resample(view, {0, 0, static_cast<double>(image.cols), static_cast<double>(image.rows)}, shown, {});
}

}  // namespace

std::vector<fs::path> find_images(const fs::path& source) {
  std::error_code error;
  if (!fs::exists(source, error)) {
    throw InputError("there is no such file or folder", source.string(),
                     "Give an image or a folder of images.");
  }
  if (!fs::is_directory(source)) return {source};
  std::vector<fs::path> images;
  for (const auto& entry : fs::directory_iterator(source)) {
    if (entry.is_regular_file() && is_image_name(entry.path())) images.push_back(entry.path());
  }
  if (images.empty()) throw InputError("this folder has no images", source.string());
  std::sort(images.begin(), images.end());
  return images;
}

std::vector<SkippedImage> detect(InferenceNetwork& inference, const std::vector<fs::path>& images,
                                 const NmsOptions& nms, const std::function<void(FoundObjects&)>& sink) {
  Network& network = inference.network();
  const size_t batch = static_cast<size_t>(network.setup().batch);
  const InputFit fit = inference.fit();
  const bool as_darknet = fit.resize == Resize::darknet;
  const size_t image_values = 3 * static_cast<size_t>(fit.size) * static_cast<size_t>(fit.size);
  std::vector<uint8_t> pixels(as_darknet ? 0 : image_values * batch);
  std::vector<float> values(as_darknet ? image_values * batch : 0);
  std::vector<FoundObjects> found(batch);
  std::vector<std::string> failures(batch);
  std::vector<SkippedImage> skipped;

  for (size_t begin = 0; begin < images.size(); begin += batch) {
    const size_t count = std::min(batch, images.size() - begin);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < count; ++i) {
      found[i] = {images[begin + i], {}, {}};
      failures[i].clear();
      try {
        if (as_darknet) {
          found[i].image = read_darknet_image(found[i].file);
          fill_darknet_input(found[i].image, fit.size, fit.letterbox, values.data() + i * image_values);
        } else {
          found[i].image = read_image(found[i].file);
          Resampler resample;
          place_image(found[i].image, fit, pixels.data() + i * image_values, resample);
        }
      } catch (const ImageError& e) {
        failures[i] = e.detail();
      }
    }
    if (as_darknet) {
      network.set_values(values.data());
    } else {
      network.set_pixels(pixels.data());
    }
    network.infer();
    const auto candidates = network.detections(nms.score);
    for (size_t i = 0; i < count; ++i) {
      if (!failures[i].empty()) {
        skipped.push_back({found[i].file, failures[i]});
        continue;
      }
      found[i].boxes = objects_in_image(candidates[i], nms, found[i].image.cols, found[i].image.rows, fit);
      sink(found[i]);
    }
  }
  return skipped;
}

}  // namespace brightnet
