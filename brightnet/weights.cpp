#include "brightnet/weights.h"

#include <utility>

#include "detect/open_weights.h"

namespace brightnet {

Weights::Weights(std::shared_ptr<const TrainedModel> trained) : trained_(std::move(trained)) {}

Weights Weights::open(const WeightsFiles& files) {
  return Weights(std::make_shared<const TrainedModel>(open_weights(files)));
}

std::filesystem::path weights_file(const std::filesystem::path& weights) {
  return weights_of_run(weights);
}

const std::string& Weights::model() const {
  return trained_->model.name;
}
const std::vector<std::string>& Weights::classes() const {
  return trained_->classes;
}
int Weights::input_height() const {
  return trained_->size.height;
}
int Weights::input_width() const {
  return trained_->size.width;
}
int Weights::channels() const {
  return trained_->model.channels;
}
int64_t Weights::parameters() const {
  return static_cast<int64_t>(trained_->layout.trainable_parameters());
}
const std::map<std::string, std::string>& Weights::training() const {
  return trained_->training;
}

}  // namespace brightnet
