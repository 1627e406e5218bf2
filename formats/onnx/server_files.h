// The files beside an exported network from which a server knows what it is given and gives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "formats/onnx/export.h"

namespace brightnet {

enum class Server : uint8_t {
  triton,     ///< NVIDIA Triton: a model's folder in a repository
  deepstream  ///< NVIDIA DeepStream: what its nvinfer element reads
};

constexpr std::string_view enum_name(Server server) {
  switch (server) {
    case Server::triton: return "triton";
    case Server::deepstream: return "deepstream";
  }
  return {};
}

/// The path of the network in the folder.
std::filesystem::path network_place(Server server);

/// The other files of the folder, by their names in it. `name` is the folder's; the network was exported by these options.
std::map<std::string, std::string> server_files(Server server, const std::string& name,
                                                const OnnxOptions& options, const OnnxSummary& network,
                                                const OnnxMetadata& metadata);

/// Throws InputError for options with which the server could not use the network.
void check_for(Server server, const OnnxOptions& options, bool quantized);

}  // namespace brightnet
