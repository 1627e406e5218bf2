// Max-pooling: where windows lie, and which of their elements wins. The same on every device.
#pragma once

namespace brightnet {

/// y[oy, ox] = the maximum of x over rows oy·stride − before ... + window − 1 and the same of columns, with
/// before = padding / 2 rounded down; what lies outside of x does not count. Of equal elements the first one
/// in the order of rows and columns wins; a NaN wins over every number, the last NaN over the others.
struct PoolSpec {
  /// In pixels; a window is 15 wide at most.
  int window = 2, stride = 2;
  /// In total, as in darknet: window − 1 by default, half of it (rounded down) before.
  int padding = 0;
};

}  // namespace brightnet
