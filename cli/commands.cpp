#include "cli/commands.h"

namespace brightnet::cli {

void add_commands(CLI::App& app, Action& action) {
  add_train(app, action);
  add_tune(app, action);
  add_eval(app, action);
  add_detect(app, action);
  add_export(app, action);
  add_prune(app, action);
  add_bench(app, action);
  add_memory(app, action);
  add_config(app, action);
  add_data(app, action);
  add_import(app, action);
  add_doctor(app, action);
  add_compare(app, action);
  add_models(app, action);
  add_download(app, action);
  add_completion(app, action);
  add_manual(app, action);
}

}  // namespace brightnet::cli
