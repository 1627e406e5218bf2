#include "train/setup/run_request.h"

#include "train/setup/run_model.h"

namespace brightnet {

RunConfig requested_config(const RunRequest& request) {
  auto assignments = request.assignments;
  if (!request.weights.empty())
    assignments.push_back("--weights:train.weights=" + yaml_quoted(request.weights));
  if (!request.weights_cfg.empty())
    assignments.push_back("--weights-cfg:train.weights_cfg=" + yaml_quoted(request.weights_cfg));
  if (request.weights_partial) assignments.push_back("train.weights_partial=true");
  RunConfig config = load_run_config(request.config, assignments);
  require_model(config);  // before the data are read, which may take long
  return config;
}

}  // namespace brightnet
