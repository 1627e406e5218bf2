// The models that come with brightnet: their names, and where their files are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace brightnet {

/// The names, sorted: "yolov4-tiny" for models/yolov4-tiny.yaml. Empty when the folder is not found.
std::vector<std::string> model_names();

/// Whether `model` is a name and not a path: it has no folder and no ending of a model's file.
bool is_model_name(const std::string& model);

/// The file of the model of this name. Throws InputError, which lists all names, when there is none; `where` is
/// where it was named.
std::filesystem::path model_file(const std::string& name, const std::string& where);

}  // namespace brightnet
