// Makes a model of its layers, whoever lists them: a YAML (layers/model/reader.h) or a darknet .cfg.
#pragma once

#include <set>
#include <string>

#include "layers/model/model.h"

namespace brightnet {

class ModelBuilder {
 public:
  /// `model` has everything but layers and stride.
  explicit ModelBuilder(Model model);

  /// Adds a layer with its name, inputs, attributes and place, and returns its index. Its channels follow, and the filters
  /// of a convolution that has none (`auto`) from the head that reads it. Throws InputError for inputs that do not fit, and for a
  /// name that another layer has.
  int add(LayerDescription layer);

  /// The model. Throws InputError, with the place of a layer or else `where`, for a layer that nothing reads, for inputs
  /// of different sizes, and when no head is there.
  Model finish(const std::string& where);

 private:
  template <LayerKind Kind>
  void complete(const Kind& kind, LayerDescription& layer) const;
  void complete(YoloAttributes& yolo, LayerDescription& layer);
  void check_no_head(int index, const LayerDescription& layer) const;
  int known_channels(int index, const LayerDescription& layer) const;
  void check_inputs(const LayerDescription& layer, const std::vector<double>& scales) const;
  void check_readers(const std::string& where) const;

  Model model_;
  std::set<std::string> names_;  ///< of its layers
};

}  // namespace brightnet
