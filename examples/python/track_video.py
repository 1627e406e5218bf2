"""Follows the objects of a video by ByteTrack, and writes a line for each in every frame: frame, track, class, corners.

The tracker is supervision's, which has moved to the package `trackers` (pip install supervision trackers).

track_video.py WEIGHTS VIDEO [CONFIDENCE]
"""

import sys

from trackers import ByteTrackTracker

import brightnet


def main(weights: str, video: str, confidence: float) -> None:
    detector = brightnet.Detector(weights, confidence=confidence)
    tracker = ByteTrackTracker(
        track_activation_threshold=confidence, high_conf_det_threshold=confidence, minimum_consecutive_frames=1
    )
    for found in detector(video):
        tracked = tracker.update(found.to_supervision())
        tracks = () if tracked.tracker_id is None else tracked.tracker_id
        names = tracked.data.get("class_name", [])  # which a frame without objects lacks
        for box, track, name in zip(tracked.xyxy, tracks, names):
            if track >= 0:
                print(found.frame, track, name, *box.round(1))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 0.25)
