#include "brightnet/device.h"

#include "core/dtype.h"
#include "kernels/device/device.h"

namespace brightnet {

DeviceDescription describe_device(const DeviceOptions& options) {
  const FastPrecision fast = fast_precision(options.device);
  const Precision precision =
      options.precision == "auto" ? fast.precision : parse_precision(options.precision);
  const auto backend = open_device(options.device, precision);
  return {backend->name(), std::string(enum_name(precision)), backend->works_beside_host()};
}

}  // namespace brightnet
