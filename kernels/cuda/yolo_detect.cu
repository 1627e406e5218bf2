// Detections of a YOLO head: candidates above the threshold are found on the device, and only these are
// copied to the host for non-maximum suppression.
//
// It must read one objectness logit of each prediction (one 32-byte sector) and the class logits of the few
// whose objectness alone exceeds the threshold. A block takes 256 consecutive predictions of an image. A warp
// looks at 32 objectness logits at once and then together at the classes of each that passes, so that class
// logits are read in whole sectors. The same walk is made twice: once to count, so that every block knows its
// place in the list, and once to write; in that way the list has the CPU's order (row, column, anchor, class)
// without any sorting, and the same in every run.
//
// The list is bounded (max_candidates): an untrained network may find millions. An image that has more keeps
// the best ones, exactly as many, by a radix selection over (score, place in the order): eight more walks,
// one for each byte from the highest, each counting the candidates that share the bytes found so far.
#include <algorithm>
#include <numeric>

#include "core/alignment.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/vector.h"
#include "kernels/math/box.h"
#include "kernels/math/yolo.h"

namespace brightnet::cuda {
namespace {

constexpr int detect_tile = 256;  ///< predictions and threads of a block
constexpr int warps = detect_tile / warp_size;
constexpr int bins = 256;  ///< values of one byte

/// A candidate's rank, the best the highest: its score's bits (scores are positive, so their bits order like
/// them), then the complement of its place in the image. Every candidate has its own.
using Key = unsigned long long;

/// State of the radix selection of an image's best candidates.
struct Selection {
  Key cut;             ///< candidates below are left out; 0: none
  unsigned remaining;  ///< how many of those that share the bytes found so far are wanted; 0: all are
};

template <typename T>
struct Search {
  YoloHead head;
  Shape shape;
  const T* predictions;
  float threshold, least_logit;
  const Selection* selections;
  unsigned tiles;  ///< tiles of an image
  size_t stride;   ///< elements from one pixel to the next

  /// The numbers of a prediction of the block's image.
  __device__ const T* prediction(unsigned index) const {
    const unsigned slots = static_cast<unsigned>(head.mask_count);
    const size_t pixel = blockIdx.y * static_cast<size_t>(shape.h) * shape.w + index / slots;
    return predictions + pixel * stride + index % slots * static_cast<size_t>(head.values());
  }
};

template <typename T>
struct Candidate {
  const T* prediction;
  unsigned index;  ///< number of the prediction in its image
  int class_id;
  float score;
  Key key;
  bool chosen;
};

/// Calls visit(candidate) for each class of each prediction of this warp's share of the block's tile that may
/// matter, one class a lane, with all lanes at once; candidate.chosen says whether it exceeds the threshold.
/// Predictions ascend, and classes within them.
template <typename T, typename Visit>
__device__ void visit_candidates(const Search<T>& s, Visit&& visit) {
  const unsigned lane = threadIdx.x % warp_size;
  const size_t of_image = static_cast<size_t>(s.shape.h) * s.shape.w * s.head.mask_count;
  const size_t own = static_cast<size_t>(blockIdx.x) * detect_tile + threadIdx.x;
  const float logit = own < of_image ? widen(s.prediction(static_cast<unsigned>(own))[4]) : 0.0f;
  const float objectness = logistic(logit);
  const Key cut = s.selections[blockIdx.y].cut;
  for (unsigned passing = __ballot_sync(full_warp, own < of_image && logit > s.least_logit); passing != 0;
       passing &= passing - 1) {
    const int source = __ffs(static_cast<int>(passing)) - 1;
    const float shared_objectness = __shfl_sync(full_warp, objectness, source);
    Candidate<T> c;
    c.index = static_cast<unsigned>(own - lane) + static_cast<unsigned>(source);
    c.prediction = s.prediction(c.index);
    for (int first = 0; first < s.head.classes; first += warp_size) {
      c.class_id = first + static_cast<int>(lane);
      const bool exists = c.class_id < s.head.classes;
      c.score = exists ? shared_objectness * logistic(widen(c.prediction[5 + c.class_id])) : 0.0f;
      const unsigned place =
          c.index * static_cast<unsigned>(s.head.classes) + static_cast<unsigned>(c.class_id);
      c.key = static_cast<Key>(__float_as_uint(c.score)) << 32 | (0xffffffffu - place);
      c.chosen = exists && c.score > s.threshold && c.key >= cut;
      visit(c);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(detect_tile) count_candidates(Search<T> s, unsigned* counts) {
  BRIGHTNET_SHARED(unsigned, of_warp, [warps]);
  unsigned count = 0;
  visit_candidates(s, [&](const Candidate<T>& c) { count += __popc(__ballot_sync(full_warp, c.chosen)); });
  if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = count;
  __syncthreads();
  if (threadIdx.x > 0) return;
  unsigned sum = 0;
  for (int i = 0; i < warps; ++i) sum += of_warp[i];
  counts[blockIdx.y * s.tiles + blockIdx.x] = sum;
}

/// `places`: where each tile's candidates begin in the list.
template <typename T>
__global__ void __launch_bounds__(detect_tile)
    write_candidates(Search<T> s, const unsigned* places, Detection* list) {
  BRIGHTNET_SHARED(unsigned, of_warp, [warps]);
  const unsigned lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  unsigned count = 0;
  visit_candidates(s, [&](const Candidate<T>& c) { count += __popc(__ballot_sync(full_warp, c.chosen)); });
  if (lane == 0) of_warp[warp] = count;
  __syncthreads();
  unsigned place = places[blockIdx.y * s.tiles + blockIdx.x];
  for (unsigned i = 0; i < warp; ++i) place += of_warp[i];
  visit_candidates(s, [&](const Candidate<T>& c) {
    const unsigned chosen = __ballot_sync(full_warp, c.chosen);
    if (c.chosen) {
      const unsigned slots = static_cast<unsigned>(s.head.mask_count), cell = c.index / slots;
      const Box box =
          decode_box(s.head, s.head.mask[c.index % slots], static_cast<int>(cell % s.shape.w),
                     static_cast<int>(cell / s.shape.w), s.shape.w, s.shape.h, widen(c.prediction[0]),
                     widen(c.prediction[1]), widen(c.prediction[2]), widen(c.prediction[3]));
      list[place + __popc(chosen & ((1u << lane) - 1u))] = {box, c.class_id, c.score};
    }
    place += __popc(chosen);
  });
}

/// How many candidates have which next byte of the key, of those that share the bytes above it.
template <typename T>
__global__ void __launch_bounds__(detect_tile)
    count_bytes(Search<T> s, const Selection* found, int shift, unsigned* histograms) {
  const Selection so_far = found[blockIdx.y];
  if (so_far.remaining == 0) return;
  visit_candidates(s, [&](const Candidate<T>& c) {
    const bool shares = shift == 56 || (c.key ^ so_far.cut) >> (shift + 8) == 0;
    if (c.chosen && shares) atomicAdd(histograms + blockIdx.y * bins + ((c.key >> shift) & 0xff), 1u);
  });
}

/// The byte that the last wanted candidate has.
__global__ void find_byte(Selection* found, int shift, const unsigned* histograms) {
  Selection s = found[blockIdx.x];
  if (s.remaining == 0) return;
  int byte = bins - 1;
  for (; byte > 0; --byte) {
    const unsigned count = histograms[blockIdx.x * bins + byte];
    if (count >= s.remaining) break;
    s.remaining -= count;
  }
  s.cut |= static_cast<Key>(byte) << shift;
  found[blockIdx.x] = s;
}

/// The workspace's parts.
struct Layout {
  size_t images, tiles;
  Layout(const YoloHead& head, const Shape& shape)
      : images(static_cast<size_t>(shape.n)),
        tiles(blocks_for(static_cast<size_t>(shape.h) * shape.w * head.mask_count, detect_tile)) {}

  size_t selections() const { return 0; }
  size_t found() const { return aligned(images * sizeof(Selection), device_alignment); }
  size_t histograms() const { return 2 * found(); }
  size_t counts() const { return histograms() + aligned(images * bins * sizeof(unsigned), device_alignment); }
  size_t list() const { return counts() + aligned(images * tiles * sizeof(unsigned), device_alignment); }
  size_t bytes() const { return list() + images * max_candidates * sizeof(Detection); }
};

/// One call: the search, and where its parts lie.
template <typename T>
struct Work {
  Search<T> search;
  Layout layout;
  std::byte* memory;
  const Stream& stream;

  dim3 grid() const { return {static_cast<unsigned>(layout.tiles), static_cast<unsigned>(layout.images)}; }
  size_t all_tiles() const { return layout.images * layout.tiles; }
  template <typename Part>
  Part* part(size_t offset) const {
    return reinterpret_cast<Part*>(memory + offset);
  }
};

/// Pinned memory for `count` of these, whatever was in it before.
template <typename T>
T* reserve(PinnedMemory& memory, size_t count) {
  if (memory.bytes() < count * sizeof(T)) memory = PinnedMemory(2 * count * sizeof(T));
  return memory.as<T>();
}

/// Every tile's number of candidates, in the staging memory; and every image's.
template <typename T>
std::vector<unsigned> count(const Work<T>& work, PinnedMemory& staging) {
  auto* const counts = work.template part<unsigned>(work.layout.counts());
  launch(count_candidates<T>, work.grid(), detect_tile, 0, work.stream, work.search, counts);
  auto* const of_tile = reserve<unsigned>(staging, work.all_tiles());
  copy_async(of_tile, counts, work.all_tiles() * sizeof(unsigned), work.stream);
  work.stream.synchronize();
  std::vector<unsigned> of_image(work.layout.images);
  for (size_t i = 0; i < work.all_tiles(); ++i) of_image[i / work.layout.tiles] += of_tile[i];
  return of_image;
}

/// Cuts off all but the best max_candidates of each image that has more.
template <typename T>
void select_best(const Work<T>& work, const std::vector<unsigned>& of_image, PinnedMemory& staging) {
  auto* const wanted = reserve<Selection>(staging, work.layout.images);
  for (size_t i = 0; i < work.layout.images; ++i)
    wanted[i] = {0, of_image[i] > max_candidates ? max_candidates : 0};
  auto* const found = work.template part<Selection>(work.layout.found());
  auto* const histograms = work.template part<unsigned>(work.layout.histograms());
  const size_t bytes = work.layout.images * sizeof(Selection);
  copy_async(found, wanted, bytes, work.stream);
  for (int shift = 56; shift >= 0; shift -= 8) {
    fill_async(histograms, 0, work.layout.images * bins * sizeof(unsigned), work.stream);
    launch(count_bytes<T>, work.grid(), detect_tile, 0, work.stream, work.search, found, shift, histograms);
    launch(find_byte, work.layout.images, 1, 0, work.stream, found, shift, histograms);
  }
  copy_async(work.template part<Selection>(work.layout.selections()), found, bytes, work.stream);
}

/// The list of all candidates, image by image, in the staging memory, where every tile's number was. Their
/// sum is `total`.
template <typename T>
const Detection* write(const Work<T>& work, size_t total, PinnedMemory& staging) {
  auto* const places = staging.as<unsigned>();
  std::exclusive_scan(places, places + work.all_tiles(), places, 0u);
  auto* const on_device = work.template part<unsigned>(work.layout.counts());
  copy_async(on_device, places, work.all_tiles() * sizeof(unsigned), work.stream);
  auto* const list = work.template part<Detection>(work.layout.list());
  launch(write_candidates<T>, work.grid(), detect_tile, 0, work.stream, work.search, on_device, list);
  work.stream.synchronize();  // the places have been read
  auto* const on_host = reserve<Detection>(staging, total);
  copy_async(on_host, list, total * sizeof(Detection), work.stream);
  work.stream.synchronize();
  return on_host;
}

}  // namespace

size_t CudaBackend::yolo_detect_workspace(const YoloHead& head, const Shape& predictions) const {
  return Layout(head, predictions).bytes();
}

void CudaBackend::yolo_detect(const YoloHead& head, const Tensor& predictions, float threshold,
                              std::span<std::vector<Detection>> detections, void* workspace) {
  const Shape shape = predictions.shape;
  BRIGHTNET_CHECK(shape.c == head.channels() && head.mask_count > 0 && shape.count() > 0,
                  "predictions are not of this YOLO head");
  BRIGHTNET_CHECK(detections.size() >= static_cast<size_t>(shape.n), "fewer lists of detections than images");
  with_compute_type(predictions.type, [&]<typename T>() {
    const Layout layout(head, shape);
    auto* const memory = static_cast<std::byte*>(workspace);
    const Search<T> search{head,
                           shape,
                           static_cast<const T*>(predictions.data),
                           threshold,
                           logit_below(threshold),
                           reinterpret_cast<const Selection*>(memory + layout.selections()),
                           static_cast<unsigned>(layout.tiles),
                           predictions.pixel_stride()};
    const Work<T> work{search, layout, memory, stream()};
    fill_async(memory + layout.selections(), 0, layout.images * sizeof(Selection), stream());
    std::vector<unsigned> of_image = count(work, detections_);
    if (*std::max_element(of_image.begin(), of_image.end()) > max_candidates) {
      select_best(work, of_image, detections_);
      of_image = count(work, detections_);
    }
    const size_t total = std::accumulate(of_image.begin(), of_image.end(), size_t{0});
    if (total == 0) return;
    const Detection* next = write(work, total, detections_);
    for (size_t image = 0; image < layout.images; next += of_image[image++])
      detections[image].insert(detections[image].end(), next, next + of_image[image]);
  });
}

}  // namespace brightnet::cuda
