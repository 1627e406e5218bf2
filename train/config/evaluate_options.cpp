#include "train/config/evaluate_options.h"

#include "layers/model/model.h"

namespace brightnet {

void EvaluateOptions::fields(Fields& f) {
  f("every", every, "epochs between evaluations").at_least(1);
  f("start", start,
    "first epoch that is evaluated; raise it where evaluations are long and early networks find nothing")
      .at_least(1);
  f("batch", batch, "images at a time; 0: the micro-batch").at_least(0);
  input_size_field(f, "size", size, {.high = largest_input_side, .none = true},
                   "of the input; 0: train.size");
  f("best_by", best_by, "what makes weights the best");
  f("smooth", smooth,
    "evaluations that the score is averaged over, the newest counting most; 1: itself alone")
      .within(1, 100);
  f("nms", nms, "non-maximum suppression");
}

}  // namespace brightnet
