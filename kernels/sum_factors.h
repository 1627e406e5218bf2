// The factors of a weighted sum and their derivative, for both devices. One column: the weights of one channel,
// or of all, over the inputs, `row` apart.
#pragma once

#include <cmath>

#include "kernels/math/hd.h"
#include "kernels/weighted_sum.h"

namespace brightnet {

/// ε of SumNormalization. That of softmax is darknet's, which adds it after the largest weight is taken off.
constexpr float sum_epsilon = 1e-4f;

/// The values that all weights of a column share.
struct SumColumn {
  float largest = 0;      ///< largest weight
  float denominator = 1;  ///< denominator of the factors

  BRIGHTNET_HD float numerator(SumNormalization normalization, float weight) const {
    switch (normalization) {
      case SumNormalization::none: return weight;
      case SumNormalization::relu: return weight > 0 ? weight : 0.0f;
      case SumNormalization::softmax: return expf(weight - largest);
    }
    return 0;
  }
};

BRIGHTNET_HD SumColumn sum_column(const SumWeights& sum, const float* weights) {
  SumColumn column;
  if (sum.normalization == SumNormalization::none) return column;
  const int row = sum.row();
  column.largest = weights[0];
  for (int i = 1; i < sum.inputs; ++i)
    column.largest = weights[i * row] > column.largest ? weights[i * row] : column.largest;
  column.denominator = sum_epsilon;
  for (int i = 0; i < sum.inputs; ++i)
    column.denominator += column.numerator(sum.normalization, weights[i * row]);
  return column;
}

/// Writes factors[i · channels] of every input i.
BRIGHTNET_HD void sum_factors_of(const SumWeights& sum, const float* weights, float* factors) {
  const SumColumn column = sum_column(sum, weights);
  for (int i = 0; i < sum.inputs; ++i) {
    factors[i * sum.channels] =
        column.numerator(sum.normalization, weights[i * sum.row()]) / column.denominator;
  }
}

/// dw[i · row] = or += Σ_j g_j ∂f_j/∂w_i, where g_j = of_factor(j) is the gradient of factor f_j. With
/// f_j = n_j / S and g·f = Σ g_j f_j it is n'_i / S · (g_i − g·f). Softmax's largest weight is taken off every
/// exponent, which only ε notices: its derivative has ε / S · g·f less.
template <typename FactorGradient>
BRIGHTNET_HD void sum_weight_gradient(const SumWeights& sum, const float* weights, float* gradient,
                                      bool accumulate, const FactorGradient& of_factor) {
  const SumColumn column = sum_column(sum, weights);
  const int row = sum.row();
  const bool plain = sum.normalization == SumNormalization::none;
  float along = 0;  // g·f
  for (int i = 0; i < sum.inputs && !plain; ++i)
    along += of_factor(i) * column.numerator(sum.normalization, weights[i * row]) / column.denominator;
  bool largest_seen = false;
  for (int i = 0; i < sum.inputs; ++i) {
    const float weight = weights[i * row], rest = of_factor(i) - along;
    float dw = of_factor(i);
    switch (sum.normalization) {
      case SumNormalization::none: break;
      case SumNormalization::relu: dw = weight > 0 ? rest / column.denominator : 0.0f; break;
      case SumNormalization::softmax:
        dw = column.numerator(sum.normalization, weight) * rest / column.denominator;
        if (weight == column.largest && !largest_seen) {
          dw -= sum_epsilon / column.denominator * along;
          largest_seen = true;
        }
        break;
    }
    gradient[i * row] = dw + (accumulate ? gradient[i * row] : 0.0f);
  }
}

}  // namespace brightnet
