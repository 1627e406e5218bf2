#include "train/loop/rank_exchange.h"

#include <type_traits>
#include <vector>

namespace brightnet {
namespace {

/// Calls `visit` with each number of the report, in the order of the message; flags count as 0 or 1.
template <typename Report, typename Visit>
void for_each_number(Report& report, Visit&& visit) {
  auto& [losses, sums, stop, save_due, evaluation_due, timing_due, planned] = report;
  for (auto* number : {&losses.box, &losses.objectness, &losses.classes, &losses.iou, &losses.assigned,
                       &losses.images, &losses.steps, &losses.clipped, &losses.norm, &losses.distillation,
                       &sums.images, &sums.seconds, &sums.waited, &sums.comm_waited, &sums.busy}) {
    visit(*number);
  }
  visit(stop);
  visit(save_due);
  visit(evaluation_due);
  visit(timing_due);
  visit(planned);
}

}  // namespace

RankReport combine(const RankReport& own, Communicator& communicator) {
  RankReport all = own;
  const auto ranks = static_cast<double>(communicator.size());
  for (double* seconds : {&all.sums.seconds, &all.sums.waited, &all.sums.comm_waited, &all.sums.busy}) {
    *seconds /= ranks;
  }
  std::vector<double> numbers;
  for_each_number(all, [&](auto number) { numbers.push_back(number); });
  communicator.all_reduce(numbers);
  auto sum = numbers.begin();
  for_each_number(
      all, [&](auto& number) { number = static_cast<std::remove_reference_t<decltype(number)>>(*sum++); });
  return all;
}

const RankReport& RankExchange::share(RankReport own) {
  own.sums = own_;
  all_ = combine(own, communicator_);
  return all_;
}

void RankExchange::begin_epoch() {
  own_ = all_.sums = {};
  all_.losses = {};
}

void RankExchange::complete(Progress& saved) const {
  saved.sums = all_.sums;
  saved.state.sums = all_.losses;
}

void RankExchange::resume(Progress& progress) {
  all_ = {.losses = progress.state.sums, .sums = progress.sums};
  own_ = progress.sums;
  if (communicator_.leads()) return;
  own_.images = 0;
  progress.state.sums = {};
}

}  // namespace brightnet
