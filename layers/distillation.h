// Distillation: a network, the student, learns the outputs of another one, its teacher, besides the ground truth: the
// predictions of its heads, and, through a convolution of 1 x 1, the adapter, the features that each is predicted from. The
// adapters are the last layers of the model that is trained, and no part of the model that is evaluated and kept.
#pragma once

#include <vector>

#include "kernels/distillation.h"
#include "layers/network.h"

namespace brightnet {

/// A head of the student and the one of the teacher with its stride; all are places of layers.
struct TaughtHead {
  int student = 0, teacher = 0;
  int adapter = -1;   ///< the adapter's layer in Distillation::student; -1: no features are taught
  int features = -1;  ///< the teacher's layer whose output is taught; -1: none
};

struct Distillation {
  Model student;  ///< the student with its adapters
  Model teacher;
  ParameterLayout teacher_layout;
  std::vector<float> teacher_values;
  std::vector<TaughtHead> heads;
  float predictions = 1, features = 1;  ///< weights of the two losses
};

/// Pairs the heads of the two and gives the student its adapters, unless `features` is 0. Throws InputError, naming both
/// sides, for a head of the student whose stride no head of the teacher has, or only one with other classes or channels of the
/// image.
Distillation make_distillation(const Model& student, const Model& teacher, float predictions, float features);

/// The layers whose outputs the teacher keeps for the student after infer() (NetworkSetup::kept).
std::vector<int> kept_outputs(const Distillation& distillation);

/// The loss of one network of the student against one of the teacher: of the same batch and input size.
class DistillationLoss : public OutputLoss {
 public:
  /// All arguments outlive the loss.
  DistillationLoss(const Distillation& distillation, const Network& teacher, Backend& backend);
  /// Bytes of the loss's workspace, which may be that of other such losses.
  size_t workspace_bytes() const;
  void bind(void* workspace) { workspace_ = workspace; }

  void loss(int layer, const Tensor& output, const Tensor& gradient, const GradientScale& scale,
            LossTotals* totals) override;

 private:
  const Distillation& distillation_;
  const Network& teacher_;
  Backend& backend_;
  std::vector<DistilledHeads> heads_;
  void* workspace_ = nullptr;
};

}  // namespace brightnet
