// The images of a data set, resized as training resizes them.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "data/tiles/tiles.h"
#include "detect/sources/frame_source.h"

namespace brightnet {

/// A frame has no name and says by its `record` which image it is. Loading throws InputError for an image that cannot be
/// decoded or whose size is not that of its record.
class DatasetSource : public FrameSource {
 public:
  /// `order` lists images of the data set, which must outlive the source. `fit` is that of the largest input. With `tiles`
  /// a picture is decoded once for all of its tiles and once more for the input that shows all of it, for which a
  /// large JPEG is decoded at a smaller scale.
  DatasetSource(const Dataset& dataset, std::vector<int> order, const InputFit& fit,
                const TileOptions& tiles = {});

  const ImageRecord& record(const Frame& frame) const { return dataset_.images[frame.record]; }

  bool next(Frame& frame) override;
  void decode(Frame& frame, const InputFit& fit) const override;
  std::optional<cv::Size> size(const Frame& frame) const override;
  ShownPixels shown(const Frame& frame, const ImageTile& part, const InputFit& fit) const override;

 private:
  cv::Mat read(const ImageRecord& record) const;

  const Dataset& dataset_;
  const std::vector<int> order_;
  const InputFit fit_;
  const TileOptions tiles_;
  size_t at_ = 0;
};

}  // namespace brightnet
