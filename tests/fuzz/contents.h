// Files that readers take, made here: what the search begins with.
#pragma once

#include <string>
#include <vector>

#include "tune/tuned_keys.h"

namespace brightnet::testing {

/// A small image of OpenCV's type.
std::string encoded(const char* extension, int type);
/// An image of each kind that is decoded: sizes, depths, channels, orientations, ways of compressing.
std::vector<std::string> images();

/// Darknet's weights of `small_cfg`.
std::string darknet_weights();
/// Our own: in fp32, in fp16, and of a quantized network.
std::vector<std::string> own_weights();
/// States of a run: at its beginning, and with all that one may hold.
std::vector<std::string> states();
/// ONNX files: of each kind of heads, and for any number of images.
std::vector<std::string> onnx_files();
/// Tar archives of an image with YOLO labels: of POSIX with pax records, and of GNU with a long name.
std::vector<std::string> archives();

/// Models: the demo, one with a layer of every kind, one with blocks.
std::vector<std::string> models();
/// Configurations of a run: one by hand, and all keys with their defaults.
std::vector<std::string> run_yamls();

std::vector<TunedKey> searched_keys();
std::string trials_csv();
/// A report of a run.
std::string page();

extern const char* const voc_xml;
extern const char* const coco_json;
extern const char* const ultralytics_yaml;
extern const char* const data_section;
extern const char* const metrics_csv;
extern const char* const search_json;

}  // namespace brightnet::testing
