// Network: a model planned for one batch and input size on one backend. Layers run in order and, for the
// backward pass, in reverse; where one output feeds several layers, the first to run backward writes its
// gradient and the others add to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/box.h"
#include "layers/layer.h"
#include "layers/memory_plan.h"

namespace brightnet {

class NetworkInput;

/// Called in infer(), in the order of the layers. What it changes in the device's memory, the layers after read: that is
/// how rounding is simulated.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  /// Sees what a convolution's activation is applied to.
  virtual void before_activation(int /*layer*/, const Tensor& /*y*/) {}
  virtual void output(int layer, const Tensor& y) = 0;
};

/// A loss of a training network besides that of its heads (layers/distillation.h). The calls are made in the
/// backward pass, and may be recorded: they queue operations on memory that stays where it is.
class OutputLoss {
 public:
  virtual ~OutputLoss() = default;
  /// Adds to the gradient of a head's predictions, and writes that of an output which no layer reads.
  virtual void loss(int layer, const Tensor& output, const Tensor& gradient, const GradientScale& scale,
                    LossTotals* totals) = 0;
};

struct NetworkSetup {
  const Model* model = nullptr;
  Backend* backend = nullptr;
  const Parameters* parameters = nullptr;
  int batch = 1, height = 416, width = 416;
  Precision precision = Precision::fp32;
  Mode mode = Mode::train;
  StatisticsExchange* statistics = nullptr;  ///< sums over the images of all ranks; nullptr: this rank's
  /// Training keeps the convolutions' outputs only and recomputes the activations from them in the backward
  /// pass: less memory, more time, the same numbers to the bit.
  bool recompute = false;
  /// An inference network can also compute the loss of its predictions (Network::loss()), for which its heads
  /// need some memory.
  bool loss_of_inference = false;
  /// For fp32, in training and inference: rounds the weights and inputs of the convolutions that the model's
  /// quantization lists as Precision::int8 rounds them; the rounding passes gradients straight through.
  bool simulates_int8 = false;
  /// Training: strokes of a picture that the device paints (kernels/math/painting.h), at most; 0: the network
  /// gets pixels alone.
  int strokes = 0;
  /// Inference: sees what the layers compute.
  LayerObserver* observer = nullptr;
  /// Inference: layers whose outputs stay after infer() until the next call, as those of heads do.
  std::vector<int> kept = {};
  OutputLoss* output_loss = nullptr;

  InputSize size() const { return {height, width}; }
};

/// The places where a step that is recorded is interrupted, for work that must not be recorded with it.
struct StepStops {
  std::function<void()> forward_done;  ///< called after the forward pass
  std::vector<int> layers;             ///< layers after whose backward call the step stops, descending
  /// Called with each of `layers` once it has run backward: the gradients of its parameters and of all later layers' are
  /// complete in the queue, so that their all-reduce can overlap with the rest of the pass.
  std::function<void(int layer)> passed;
};

/// Per-layer time of a profiled step, in seconds.
struct LayerTime {
  double forward = 0, backward = 0;
};

/// Throws InputError where the sides of an input are no multiples of the model's stride.
void require_input_size(const Model& model, const InputSize& size);

class Network {
 public:
  /// Plans everything and allocates nothing. Throws InputError when the input size does not fit the model.
  explicit Network(const NetworkSetup& setup);
  ~Network();

  const NetworkMemory& memory() const { return memory_; }
  /// Lends the arena: at least memory().arena() bytes of the backend's memory, 64-byte aligned. Two networks
  /// may be bound to the same arena when their steps do not interleave; call this again when switching.
  void bind(void* arena);

  const NetworkSetup& setup() const { return setup_; }
  int layer_count() const { return static_cast<int>(layers_.size()); }
  Shape output_shape(int layer) const;
  /// The type in which a layer's output, or the image (network_input), is kept: the compute type or, in an int8 network, u8.
  DType stored_type(int layer) const;
  /// The memory that a layer needs in the arena.
  const MemoryNeeds& memory_needs(int layer) const;
  double flops() const;  ///< convolutions' multiplications and additions in a forward pass of the batch

  // For `bench`.
  /// The convolution whose passes a layer runs; nullptr where there is none.
  const ConvolutionSpec* convolution(int layer) const;
  /// Bytes of the arena that this convolution's passes may use: the choice of its implementation depends on
  /// them.
  size_t convolution_workspace(int layer) const;
  /// The chosen implementation; empty for layers that have only one.
  std::string implementation(int layer) const;

  /// Training: sets the next batch, height × width × channels pixels (u8; RGB, or grey) per image and the ground-truth boxes
  /// of each image (max_truths(batch) at most; the rest are left out, with a warning). The order for every
  /// batch is
  ///
  ///   backend.finish_uploads();                // from here on the last batch's pixels may change
  ///   const Batch* batch = loader.next();      // or whatever fills the pixels
  ///   network.set_batch(pixels, truths);       // of any network that shares the arena
  ///   network.forward_backward(…);             // or forward() and backward()
  ///
  /// The pixels are in the backend's allocate_host() memory. They are copied concurrently with the queued
  /// steps, which set_batch() does not wait for, and must not change until finish_uploads(). The truths may
  /// change as soon as this returns.
  void set_batch(const uint8_t* pixels, std::span<const std::vector<Truth>> truths);
  /// Training: sets the next batch, as pictures that the device paints; NetworkSetup::strokes planned for
  /// them.
  void set_batch(const Pictures& pictures, std::span<const std::vector<Truth>> truths);
  static size_t max_truths(int batch);

  /// Does at once what the first pass after a change of the parameters would begin with: converts them and,
  /// once, chooses the implementations of the convolutions, which are timed on a GPU. Writes to the input's
  /// memory.
  void prepare();

  /// Inference: copies the pixels of a batch, which may change as soon as this returns.
  void set_pixels(const uint8_t* pixels);
  /// Inference: copies the pixels of another network's last batch, of as many images of this size, in the
  /// order of the queue.
  void set_pixels(const Network& other);
  /// Inference: copies a batch's values in [0, 1] instead of pixels, for images that 8 bits would round.
  void set_values(const float* values);

  /// Training: uses batch statistics and keeps everything that the backward pass needs.
  void forward();
  /// Computes after forward() the loss and the gradients (times `scale`) of all parameters, which are
  /// overwritten, or added to in later micro-batches of one optimizer step. The loss's sums are added to
  /// `totals` (device memory; may be nullptr). Runs YoloLayer::loss() of heads and backward() of other
  /// layers, from the last layer to the first.
  void backward(const GradientScale& scale, bool accumulate, LossTotals* totals = nullptr);
  /// Runs forward() and backward(). Where that is faster on the backend, the second call captures the
  /// operations and later calls replay them.
  void forward_backward(const GradientScale& scale, bool accumulate, LossTotals* totals = nullptr);
  /// Runs forward_backward() in parts, each captured and replayed by itself, with calls between them: what
  /// these queue, such as all-reduces of the gradients that are complete, is not captured and overlaps with
  /// the parts that follow.
  void forward_backward(const GradientScale& scale, bool accumulate, LossTotals* totals,
                        const StepStops& stops);
  /// Sets whether `simota` takes all its candidates in the loss, whatever the predictions, as `neighbours`
  /// does.
  void assign_statically(bool yes) { static_assignment_ = yes; }
  /// Sets whether forward_backward() and infer() may be captured and replayed.
  void allow_recording(bool allowed) { recording_ = allowed; }
  /// Releases what was captured; the next calls capture it again.
  void drop_recordings() { recordings_.clear(); }
  /// Inference with the running statistics (Mode::infer).
  void infer();

  /// Sums of the last backward(), one per head that is trained, not divided by the batch. Synchronizes.
  std::vector<YoloLoss> losses() const;
  /// Detections of each image above `threshold` after infer(), before NMS. Synchronizes.
  std::vector<std::vector<Detection>> detections(float threshold);
  /// Returns, after infer() of a network with NetworkSetup::loss_of_inference, the loss of each of the
  /// batch's first truths.size() images against its ground truth, summed over the heads that training would
  /// count. It is training's loss, of these predictions. Synchronizes.
  std::vector<YoloLoss> loss(std::span<const std::vector<Truth>> truths);

  /// The output of a layer in the arena; valid right after forward() or infer() if its memory was not reused.
  Tensor output(int layer) const;

  /// When set, forward and backward add each layer's time to it (and synchronize after each layer).
  void profile(std::vector<LayerTime>* times) { times_ = times; }

 private:
  struct Node;
  /// The values that a recording depends on: it is replayed only where all of them are unchanged.
  struct RecordingKey {
    bool prepares = false, accumulate = false, static_assignment = false;
    float constant = 0;
    const float* dynamic = nullptr;
    LossTotals* totals = nullptr;
    int part = -1;  ///< number of the part, in a step that runs in parts; −1: the whole step
    bool operator==(const RecordingKey&) const = default;
  };
  struct Recorded {
    RecordingKey key;
    std::unique_ptr<Recording> recording;
  };
  void check_batch(std::span<const std::vector<Truth>> truths) const;
  LayerSetup layer_setup(int layer) const;
  int image_channels() const;
  int zero_outputs(int layer) const;
  std::optional<QuantizedConvolution> quantized_convolution(int layer) const;
  void make_layers();
  void choose_rebuilt();
  void choose_conversions();
  void plan_memory();
  void plan_output(int layer, std::vector<Lifetime>& lives, LayerMemoryRow& row);
  /// The time line: layer i runs forward at time i and backward at backward_time(i).
  int backward_time(int layer) const { return 2 * layer_count() - 1 - layer; }
  int end_time() const { return setup_.mode == Mode::train ? backward_time(0) : layer_count() - 1; }
  int last_forward_read(const std::vector<int>& consumers, int produced) const;
  int last_backward_read(const std::vector<int>& consumers) const;
  void plan_workspaces(std::vector<Lifetime>& lives, size_t preparing);
  std::vector<int> times_of_calls(int layer) const;
  /// The memory of the step's buffers, behind the input and the working weights.
  std::byte* step_memory() const { return arena_ + memory_.input + memory_.working_weights; }
  std::byte* place(int buffer) const;
  void place_outputs();
  bool is_prepare_due() const;
  void prepare_frozen();
  void choose_convolutions();
  LayerCall call_of(Node& node, bool backward) const;
  void run_forward();
  void run_backward(int from, int to, const GradientScale& scale, bool accumulate, LossTotals* totals);
  void rebuild(int layer);
  template <typename Work>
  void recorded(const RecordingKey& key, Work&& work);
  template <typename Call>
  void timed(int layer, double LayerTime::*part, Call&& call);

  NetworkSetup setup_;
  DType type_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<Node> nodes_;
  NetworkMemory memory_;
  ArenaPlan arena_plan_;
  std::byte* arena_ = nullptr;
  uint64_t prepared_version_ = 0;
  bool chose_convolutions_ = false;
  bool static_assignment_ = false;
  std::vector<LayerTime>* times_ = nullptr;
  Tensor x_;  ///< the normalised image, and channels of zeros where the backend wants more
  bool image_is_quantized_ = false;  ///< whether x_ is the pixels themselves
  int x_buffer_ = -1, workspace_buffer_ = -1;
  std::unique_ptr<NetworkInput> input_;
  bool recording_ = true;
  std::vector<Recorded> recordings_;
};

}  // namespace brightnet
