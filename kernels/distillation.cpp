#include "kernels/distillation.h"

#include "core/error.h"

namespace brightnet {
namespace {

void check_gradient(const DistillationPass& pass) {
  BRIGHTNET_CHECK(pass.student.type == pass.teacher.type && pass.student.type == pass.gradient.type &&
                      pass.student.shape == pass.gradient.shape &&
                      pass.student.pixel_stride() == pass.gradient.pixel_stride(),
                  "a student, its teacher and its gradient are of one type and the gradient is of its shape");
}

}  // namespace

void check_distillation(const DistilledHeads& heads, const DistillationPass& pass) {
  check_gradient(pass);
  const Shape &student = pass.student.shape, &teacher = pass.teacher.shape;
  BRIGHTNET_CHECK(student.n == teacher.n && student.h == teacher.h && student.w == teacher.w &&
                      student.c == heads.student.channels() && teacher.c == heads.teacher.channels() &&
                      heads.student.classes == heads.teacher.classes && student.count() > 0,
                  "predictions are not of these heads");
}

void check_distillation(const DistillationPass& pass) {
  check_gradient(pass);
  BRIGHTNET_CHECK(pass.student.shape == pass.teacher.shape && pass.student.count() > 0 &&
                      pass.student.pixel_stride() == static_cast<size_t>(pass.student.shape.c) &&
                      pass.teacher.pixel_stride() == static_cast<size_t>(pass.teacher.shape.c),
                  "features are dense tensors of one shape");
}

}  // namespace brightnet
