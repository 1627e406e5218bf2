// One rank of a test: rank_program SCENARIO FOLDER. The test compares its results, FOLDER/SCENARIO.RANK.
#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "core/child_process.h"
#include "core/files.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/random.h"
#include "core/resource_folder.h"
#include "data/loader/loader.h"
#include "layers/network.h"
#include "train/config/config.h"
#include "train/distributed/agreement.h"
#include "train/distributed/gradient_exchange.h"
#include "train/distributed/watchdog.h"
#include "train/setup/model.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The call's results on this rank, a line each.
using Answer = std::string;

std::string text(std::span<const float> values) {
  std::string all;
  for (const float value : values) all += std::to_string(value) + ' ';
  return all + '\n';
}

Answer collectives(Communicator& ranks, const fs::path&) {
  const int rank = ranks.rank(), size = ranks.size();
  Answer answer = std::to_string(rank) + " of " + std::to_string(size) + ", here " +
                  std::to_string(ranks.local_rank()) + " of " + std::to_string(ranks.local_size()) + '\n';
  double sums[] = {1.0 + rank, 0.5};
  ranks.all_reduce(sums);
  answer += std::to_string(sums[0]) + ' ' + std::to_string(sums[1]) + '\n';
  int word = rank == 0 ? 42 : 0;
  broadcast_value(ranks, word);
  answer += std::to_string(word) + '\n';
  for (const auto& bytes :
       ranks.all_gather(std::string(static_cast<size_t>(rank), 'a' + static_cast<char>(rank)))) {
    answer += '[' + bytes + ']';
  }
  ranks.barrier();
  std::vector<float> first(5, static_cast<float>(rank + 1)), second(3, static_cast<float>(rank));
  DeviceCollectives& tensors = ranks.host_collectives();
  tensors.start_all_reduce(first.data(), first.size(), Reduction::sum);
  tensors.start_all_reduce(second.data(), second.size(), Reduction::mean);
  // The training thread may make calls of its own while buckets travel.
  double beside[] = {1.0};
  tensors.sum(beside, 1);
  tensors.finish_all_reduces();
  return answer + '\n' + text(first) + text(second) + std::to_string(beside[0]) + '\n';
}

/// Sums of many numbers of very different size, whose last bits show the order of summation.
Answer bits(Communicator& ranks, const fs::path&) {
  Random random(1, Purpose::test, 0, static_cast<uint64_t>(ranks.rank()));
  std::vector<float> values(300007);
  for (float& value : values) value = random.normal() * std::exp(4 * random.normal());
  ranks.host_collectives().start_all_reduce(values.data(), values.size(), Reduction::sum);
  ranks.host_collectives().finish_all_reduces();
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// The batch of FOLDER's run, of which this rank takes its part, and its gradient.
struct GradientRun {
  GradientRun(Communicator& communicator, const fs::path& folder)
      : ranks(communicator),
        config(load_run_config(folder / "run.yaml")),
        dataset(read_dataset(config.data, Split::train)),
        model(load_model(config, static_cast<int>(dataset.classes.size()))),
        layout(model),
        backend(make_cpu_backend()),
        values(*backend, layout.floats() * sizeof(float)),
        gradients(*backend, layout.trainable_floats() * sizeof(float)),
        parameters{.layout = &layout, .values = values.floats(), .gradients = gradients.floats()} {
    NetworkSetup setup{.model = &model, .backend = backend.get(), .parameters = &parameters};
    setup.batch = batch_of_rank(config.train, ranks.size());
    setup.height = config.train.size.value().height;
    setup.width = config.train.size.value().width;
    network = std::make_unique<Network>(setup);
    arena = DeviceBuffer(*backend, network->memory().arena());
    network->bind(arena.data());
    const auto initial = initial_parameters(model, layout, 1);
    backend->upload(values.data(), initial.data(), values.bytes());
    backend->zero(gradients.data(), gradients.bytes());
  }

  std::string gradient(bool overlap) {
    Loader::Setup loading;
    loading.dataset = &dataset;
    loading.augment = config.augment;
    loading.batch = network->setup().batch;
    loading.sizes = {config.train.size};
    loading.part = {ranks.rank(), ranks.size()};
    Loader loader(loading);
    const Batch* batch = loader.next();
    network->set_batch(batch->pixels, batch->truths);
    GradientExchange::Options options;
    options.bucket_bytes = 4096;
    options.overlap = overlap;
    GradientExchange exchange(ranks.host_collectives(), parameters, options);
    network->forward_backward(
        {1.0f / static_cast<float>(config.train.batch)}, false, nullptr,
        {[&] { exchange.forward_done(); }, exchange.stops(), [&](int layer) { exchange.layer_done(layer); }});
    exchange.finish();
    return {static_cast<const char*>(gradients.data()), gradients.bytes()};
  }

  Communicator& ranks;
  RunConfig config;
  Dataset dataset;
  Model model;
  ParameterLayout layout;
  std::unique_ptr<Backend> backend;
  DeviceBuffer values, gradients, arena;
  Parameters parameters;
  std::unique_ptr<Network> network;
};

Answer overlapped(Communicator& ranks, const fs::path& folder) {
  return GradientRun(ranks, folder).gradient(true);
}

Answer afterwards(Communicator& ranks, const fs::path& folder) {
  return GradientRun(ranks, folder).gradient(false);
}

/// Which pictures this rank is shown over three epochs, and their objects: a line an image.
Answer samples(Communicator& ranks, const fs::path& folder) {
  const RunConfig config = load_run_config(folder / "run.yaml");
  const Dataset dataset = read_dataset(config.data, Split::train);
  Loader::Setup loading;
  loading.dataset = &dataset;
  loading.augment = config.augment;
  loading.batch = batch_of_rank(config.train, ranks.size());
  const InputSize size = config.train.size;
  loading.sizes = {size, {size.height + 32, size.width + 32}};
  loading.size_every = 2;
  loading.epochs = 3;
  loading.part = {ranks.rank(), ranks.size()};
  Loader loader(loading);
  Answer answer;
  while (const Batch* batch = loader.next()) {
    const size_t bytes = 3 * static_cast<size_t>(batch->width) * static_cast<size_t>(batch->height);
    for (int i = 0; i < batch->count; ++i) {
      const std::string pixels(reinterpret_cast<const char*>(batch->pixels) + static_cast<size_t>(i) * bytes,
                               bytes);
      answer += std::to_string(batch->width) + ' ' + std::to_string(i < batch->real) + ' ' +
                std::to_string(std::hash<std::string>()(pixels)) + ' ' +
                std::to_string(batch->truths[static_cast<size_t>(i)].size()) + '\n';
    }
  }
  return answer;
}

/// Rank 1 fails where the others do not.
Answer unprepared(Communicator& ranks, const fs::path&) {
  prepare_together(ranks, [&] {
    if (ranks.rank() == 1) throw InputError("the cupboard is bare", "cupboard:1", "Fill it.");
  });
  return "went on";
}

Answer different(Communicator& ranks, const fs::path&) {
  require_same(ranks, "hat", "red");
  require_same(ranks, "coat", ranks.rank() == 1 ? "blue" : "red");
  return "went on";
}

/// Rank 1 fails while the others already wait for it.
Answer thrown(Communicator& ranks, const fs::path&) {
  if (ranks.rank() == 1) throw InputError("the bridge is down", "river:7");
  ranks.barrier();
  return "went on";
}

/// Rank 1 fails in the middle of its backward pass, and the memory of its gradients goes with it.
Answer in_backward(Communicator& ranks, const fs::path&) {
  constexpr size_t count = 1 << 20, bytes = count * sizeof(float);
  void* const memory = ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const gradients = static_cast<float*>(memory);
  DeviceCollectives& tensors = ranks.host_collectives();
  if (ranks.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (const size_t bucket : {0, 1})
    tensors.start_all_reduce(gradients + bucket * count, count, Reduction::sum);
  if (ranks.rank() == 0) tensors.finish_all_reduces();
  tensors.abandon();
  ::munmap(memory, 2 * bytes);
  throw InputError("there is no more memory", "layer:7");
}

/// Every rank comes upon the same trouble.
Answer everybody(Communicator&, const fs::path&) {
  throw InputError("it rains everywhere");
}

Answer absent(Communicator& ranks, const fs::path&) {
  ranks.set_time_limit(3);
  if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::minutes(5));
  ranks.barrier();
  return "went on";
}

/// The device of rank 1 reports a problem, and what should end its sums never comes back.
Answer device_hangs(Communicator& ranks, const fs::path&) {
  if (ranks.rank() == 1) {
    ranks.watchdog()->also_look([] { return std::string("the GPU has fallen off the bus"); },
                                [] { std::this_thread::sleep_for(std::chrono::minutes(5)); });
  }
  ranks.barrier();
  std::this_thread::sleep_for(std::chrono::minutes(5));
  return "went on";
}

/// Rank 1 is later than the time limit, but shows that it makes progress.
Answer choosing(Communicator& ranks, const fs::path&) {
  ranks.set_time_limit(3);
  for (int i = 0; i < 80 && ranks.rank() == 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    note_progress();
  }
  ranks.barrier();
  return "went on";
}

/// Rank 0 is stopped for longer than the time limit while it waits for rank 1, which comes soon afterwards.
Answer suspended(Communicator& ranks, const fs::path&) {
  using std::chrono::milliseconds;
  ranks.set_time_limit(3);
  const auto processes = ranks.all_gather(std::to_string(::getpid()));
  if (ranks.rank() == 1) {
    const pid_t waiting = std::stoi(processes[0]);
    std::this_thread::sleep_for(milliseconds(300));  // until it waits
    ::kill(waiting, SIGSTOP);
    std::this_thread::sleep_for(milliseconds(3500));
    ::kill(waiting, SIGCONT);
    std::this_thread::sleep_for(milliseconds(600));  // in which it looks at its clock
  }
  ranks.barrier();
  return "went on";
}

int play(Communicator& ranks, const std::string& scenario, const fs::path& folder) {
  static const std::map<std::string, Answer (*)(Communicator&, const fs::path&)> scenarios{
      {"collectives", collectives}, {"bits", bits},          {"overlapped", overlapped},
      {"afterwards", afterwards},   {"samples", samples},    {"unprepared", unprepared},
      {"different", different},     {"thrown", thrown},      {"everybody", everybody},
      {"absent", absent},           {"choosing", choosing},  {"device_hangs", device_hangs},
      {"in_backward", in_backward}, {"suspended", suspended}};
  const Answer answer = scenarios.at(scenario)(ranks, folder);
  write_atomically(folder / (scenario + '.' + std::to_string(ranks.rank())), answer);
  return 0;
}

}  // namespace
}  // namespace brightnet

int main(int count, char** arguments) {
  if (count != 3) return 2;
  brightnet::set_log_sink(brightnet::standard_sink());
  brightnet::set_resource_folder(brightnet::resource_folder_of(brightnet::this_program()));
  const auto ranks = brightnet::open_communicator();
  return brightnet::run_as_rank(*ranks, [&] { return brightnet::play(*ranks, arguments[1], arguments[2]); });
}
