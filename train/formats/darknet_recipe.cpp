#include "train/formats/darknet_recipe.h"

namespace brightnet {

std::string write_darknet_recipe(const DarknetCfg&, const std::string& model, std::vector<ImportNote>&) {
  return "model: " + model + '\n';
}

}  // namespace brightnet
