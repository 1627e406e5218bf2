// oneDNN without memory. It generates code, for which it asks the system for pages and does not always look at what it gets; and
// what it says then need not be that there is no memory.
#pragma once

#include <cstddef>
#include <new>

#include <oneapi/dnnl/dnnl.hpp>

namespace brightnet::onednn {

/// Whether the process can get so many bytes of address space more.
bool can_get(size_t bytes);

/// What `make`, which makes primitives, returns. Throws std::bad_alloc where there is no memory for them.
template <typename Make>
auto with_memory(const Make& make) {
  constexpr size_t usual = size_t{32} << 20;
  if (!can_get(usual)) throw std::bad_alloc();
  try {
    return make();
  } catch (const dnnl::error& error) {
    // What was made until then is released again.
    if (error.status == dnnl_out_of_memory || !can_get(4 * usual)) throw std::bad_alloc();
    throw;
  }
}

}  // namespace brightnet::onednn
