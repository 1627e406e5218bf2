// The filter by which images are resized (data/image/resize_filter.h), for both devices.
#pragma once

#include <cmath>

#include "kernels/math/hd.h"

namespace brightnet {

/// The source pixels, `count` of them from `first` on, that one output is made of along one axis, and their weights.
/// Output i of a region that begins at `from` lies `step` source pixels after output i − 1; a negative step mirrors.
/// Outside the image's `length` pixels its border pixels are replicated.
template <typename Real>
struct TriangleTaps {
  Real centre, half;
  int first, count;

  BRIGHTNET_HD TriangleTaps(Real from, Real step, int output, int length) {
    const Real least = static_cast<Real>(0.5), most = static_cast<Real>(length) - least;
    const Real size = step < 0 ? -step : step;
    half = size > 1 ? size : 1;
    const Real at = from + (static_cast<Real>(output) + least) * step;
    centre = at < least ? least : at > most ? most : at;
    const int wide = static_cast<int>(std::ceil(2 * half));
    count = wide < length ? wide : length;
    const int start = static_cast<int>(std::floor(centre - half - least)) + 1;
    first = start > length - count ? length - count : start;
    first = first < 0 ? 0 : first;
  }

  /// The weight of source pixel first + k, to be divided by the sum of all.
  BRIGHTNET_HD Real weight(int k) const {
    const Real distance = static_cast<Real>(first + k) + static_cast<Real>(0.5) - centre;
    const Real inside = half - (distance < 0 ? -distance : distance);
    return inside > 0 ? inside : 0;
  }
};

}  // namespace brightnet
