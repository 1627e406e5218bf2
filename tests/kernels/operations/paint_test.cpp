#include <cmath>

#include "kernels/math/painting.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

constexpr int height = 11, width = 13;

/// Two pictures, whose images' pixels are random, in host memory.
class PaintedBlock {
 public:
  explicit PaintedBlock(int channels)
      : channels_(channels), layout_(picture_layout(2, height, width, channels, 4)) {
    memory_ = static_cast<std::byte*>(device().allocate_host(layout_.bytes()));
    std::memset(memory_, 0, layout_.pixels_at());
    Random random(5, Purpose::test);
    for (size_t i = layout_.pixels_at(); i < layout_.bytes(); ++i) memory_[i] = std::byte(random.below(256));
  }
  ~PaintedBlock() { device().release_host(memory_); }
  PaintedBlock(const PaintedBlock&) = delete;
  PaintedBlock& operator=(const PaintedBlock&) = delete;

  void add(int picture, const Stroke& stroke) {
    int& count = reinterpret_cast<int*>(memory_)[picture];
    reinterpret_cast<Stroke*>(memory_ + layout_.strokes_at())[picture * layout_.most_strokes + count++] =
        stroke;
  }
  double image(const Stroke& stroke, int x, int y, int channel) const {
    const size_t at = stroke.at + static_cast<size_t>((y * stroke.width + x) * channels_ + channel);
    return static_cast<double>(memory_[layout_.pixels_at() + at]);
  }
  std::vector<uint8_t> paint() const {
    const OwnedTensor pixels({2, height, width, channels_}, DType::u8);
    const OwnedArray<std::byte> memory(layout_.bytes());
    device().paint_ahead({memory_, layout_.bytes(), layout_}, memory.data(), *pixels);
    std::vector<uint8_t> values(pixels.count());
    device().download(values.data(), (*pixels).data, values.size());
    device().finish_uploads();
    return values;
  }

 private:
  int channels_;
  PictureLayout layout_;
  std::byte* memory_;
};

/// All of an image of this size, whose pixels begin at `at`, over all of the picture.
Stroke whole_image(int image_width, int image_height, uint64_t at) {
  Stroke s;
  s.right = s.shown_right = width;
  s.bottom = s.shown_bottom = height;
  s.width = s.window_width = image_width;
  s.height = image_height;
  s.step_x = static_cast<float>(image_width) / width;
  s.step_y = static_cast<float>(image_height) / height;
  s.at = at;
  return s;
}

/// The triangle filter in double.
double resized(const PaintedBlock& block, const Stroke& s, int x, int y, int channel) {
  const auto weights = [](double step, int output, int length) {
    const double half = std::max(1.0, step), centre = std::clamp((output + 0.5) * step, 0.5, length - 0.5);
    std::vector<double> all(static_cast<size_t>(length));
    double sum = 0;
    for (int i = 0; i < length; ++i) sum += all[i] = std::max(0.0, 1 - std::abs(i + 0.5 - centre) / half);
    for (double& weight : all) weight /= sum;
    return all;
  };
  const auto across = weights(static_cast<double>(s.width) / width, x, s.width),
             down = weights(static_cast<double>(s.height) / height, y, s.height);
  double sum = 0;
  for (int j = 0; j < s.height; ++j) {
    for (int i = 0; i < s.width; ++i) sum += down[j] * across[i] * block.image(s, i, j, channel);
  }
  return sum;
}

TEST(Paint, ResizesEachPicturesOwnImage) {
  for (const int channels : {1, 3}) {
    PaintedBlock block(channels);
    const Stroke strokes[] = {whole_image(20, 17, 0), whole_image(7, 9, 20 * 17 * 3)};
    for (int picture : {0, 1}) block.add(picture, strokes[picture]);
    const std::vector<uint8_t> actual = block.paint();
    size_t at = 0;
    for (const Stroke& stroke : strokes) {
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          for (int c = 0; c < channels; ++c)
            ASSERT_NEAR(actual[at++], resized(block, stroke, x, y, c), 0.51) << x << ' ' << y;
        }
      }
    }
  }
}

TEST(Paint, GreyIsExposedNoFurtherThanToWhite) {
  PaintedBlock block(1);
  Stroke stroke = whole_image(width, height, 0);
  stroke.color.exposure = 3;
  block.add(0, stroke);
  const std::vector<uint8_t> actual = block.paint();
  int white = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double expected = std::min(255.0, 3 * block.image(stroke, x, y, 0));
      ASSERT_NEAR(actual[static_cast<size_t>(y * width + x)], expected, 0.51) << x << ' ' << y;
      white += expected == 255;
    }
  }
  EXPECT_GT(white, 0);
}

TEST(Paint, StrokesFollowEachOtherAndChangeTheirRectanglesAlone) {
  PaintedBlock block(3);
  const Stroke image = whole_image(width, height, 0);
  block.add(0, image);
  Stroke grey = image, half = image, soft = whole_image(width, height, width * height * 3), none;
  grey.right = 4;
  grey.grey = true;
  half.left = 5;
  half.right = 9;
  half.at = width * height * 3;
  half.blend = Blend::half;
  soft.left = 9;
  soft.blend = Blend::soft;
  soft.box_left = 10.25f;
  soft.box_right = 12;
  soft.box_bottom = height;
  soft.edge = 2;
  block.add(0, grey);
  block.add(0, half);
  block.add(0, soft);
  none.left = 2;
  none.top = 3;
  none.right = 5;
  none.bottom = 6;
  block.add(1, image);
  block.add(1, none);  // it shows no image
  const std::vector<uint8_t> actual = block.paint();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const size_t at = static_cast<size_t>((y * width + x) * 3 + c);
        const double own = block.image(image, x, y, c), other = block.image(half, x, y, c);
        double expected = own, tolerance = 0;
        if (x < 4) {
          expected = 0.299 * block.image(image, x, y, 0) + 0.587 * block.image(image, x, y, 1) +
                     0.114 * block.image(image, x, y, 2);
          tolerance = 1.5;
        } else if (x >= 5 && x < 9) {
          expected = std::floor((own + other + 1) / 2);
        } else if (x >= 9) {
          const double outside = std::max({10.25 - (x + 0.5), x + 0.5 - 12, -1e9});
          expected = own + std::clamp(1 - outside / 2, 0.0, 1.0) * (other - own);
          tolerance = 0.51;
        }
        ASSERT_NEAR(actual[at], expected, tolerance) << x << ' ' << y << ' ' << c;
        const bool filled = x >= 2 && x < 5 && y >= 3 && y < 6;
        ASSERT_EQ(actual[width * height * 3 + at], filled ? fill_value : own) << x << ' ' << y;
      }
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
