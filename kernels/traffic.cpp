#include "kernels/traffic.h"

#include <filesystem>
#include <utility>

#include "core/alignment.h"
#include "core/error.h"

namespace brightnet {
namespace {

thread_local LaunchList* list_of_thread = nullptr;

}  // namespace

LaunchList::LaunchList(int multiprocessors, bool fuses) : multiprocessors_(multiprocessors), fuses_(fuses) {
  BRIGHTNET_CHECK(!list_of_thread, "two lists of launches at a time");
  list_of_thread = this;
}

LaunchList::~LaunchList() {
  list_of_thread = nullptr;
}

LaunchList* LaunchList::current() {
  return list_of_thread;
}

void LaunchList::add_kernel(const Traffic* traffic, const std::source_location& where) {
  LaunchRecord record;
  record.name = std::filesystem::path(where.file_name()).stem().string();
  record.layer = layer_;
  if (traffic) record.traffic = *traffic;
  record.states_traffic = traffic != nullptr;
  records_.push_back(std::move(record));
}

void LaunchList::add_convolution(const Traffic& traffic, double flops) {
  LaunchRecord record;
  record.name = "convolution";
  record.layer = layer_;
  record.traffic = traffic;
  record.flops = flops;
  record.convolution = true;
  records_.push_back(std::move(record));
}

void* LaunchList::address(size_t bytes) {
  const size_t begin = next_address_;
  next_address_ += aligned(bytes + 1, device_alignment);
  return reinterpret_cast<void*>(begin);
}

}  // namespace brightnet
