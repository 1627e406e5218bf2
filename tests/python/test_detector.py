"""Detector: every kind of source, and what it gives back."""

import json
import os
import shutil
import signal
import threading

import numpy as np
import pytest

import brightnet
from conftest import run_program

Image = pytest.importorskip("PIL.Image", reason="no Pillow")


@pytest.fixture(scope="module")
def detector(run):
    return brightnet.Detector(run.weights, device="cpu", confidence=0.01)


@pytest.fixture(scope="module")
def image(data):
    return sorted((data / "images/val").iterdir())[0]


def same(a, b):
    assert len(a) > 0
    np.testing.assert_array_equal(a.boxes, b.boxes)
    np.testing.assert_array_equal(a.scores, b.scores)
    np.testing.assert_array_equal(a.classes, b.classes)


def test_an_image_gives_boxes_scores_classes_and_names(detector, image):
    found = detector(image)
    count = len(found)
    assert count > 0
    assert found.boxes.shape == (count, 4) and found.boxes.dtype == np.float32
    assert found.scores.shape == (count,) and found.classes.shape == (count,)
    assert (np.diff(found.scores) <= 0).all() and found.scores[0] <= 1
    assert (found.boxes[:, :2] <= found.boxes[:, 2:]).all()
    assert (found.boxes >= 0).all() and (found.boxes <= 96).all()
    assert [detector.weights.classes[c] for c in found.classes] == list(found.names)
    assert found.file == str(image) and found.frame == -1
    assert found.image.shape == (96, 96, 3)
    assert str(count) in repr(found) or found.names[0] in repr(found)


def test_what_was_found_is_told_by_class():
    def found(classes, file=""):
        count = len(classes)
        boxes, scores = np.zeros((count, 4), np.float32), np.ones(count, np.float32)
        picture = np.zeros((4, 4, 3), np.uint8)
        return repr(brightnet.Detections((boxes, scores, np.array(classes, np.int64)), ["cat", "dog"], picture, file))

    assert found([1, 0, 1], "a.jpg") == "<brightnet.Detections: 1 cat, 2 dog in a.jpg>"
    assert found([0, 0, 0]) == "<brightnet.Detections: 3 cat>"
    assert found([]) == "<brightnet.Detections: nothing>"


def test_signals_are_heeded_between_the_batches_of_a_list(run, image):
    detector = brightnet.Detector(run.weights, device="cpu", confidence=0.01, batch=2)
    alone = detector(image)
    for found in detector([image] * 5):
        same(found, alone)
    whole, sizes = detector._detector, []

    class Interrupted:
        def detect(self, images, bgr):
            sizes.append(len(images))
            if len(sizes) == 2:
                signal.raise_signal(signal.SIGINT)
            return whole.detect(images, bgr)

    detector._detector = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        detector([image] * 5)
    assert sizes == [2, 2]


def test_the_program_finds_the_same(detector, run, image, tmp_path):
    said = run_program(
        *["detect", "--weights", run.weights, "--source", image, "--conf", 0.01, "--device", "cpu"],
        *["--no-save", "--json", tmp_path / "found.json"],
    )
    assert said.returncode == 0, said.stderr
    theirs = json.loads((tmp_path / "found.json").read_text())[0]["detections"]
    ours = detector(str(image))
    assert len(theirs) == len(ours)
    np.testing.assert_allclose([t["score"] for t in theirs], ours.scores, atol=1e-4)
    np.testing.assert_allclose([t["box"] for t in theirs], ours.boxes, atol=0.01)
    assert [t["name"] for t in theirs] == list(ours.names)


def test_arrays_pillow_and_bgr_are_the_same_image(detector, image):
    by_path = detector(image)
    pixels = np.asarray(Image.open(image))
    np.testing.assert_array_equal(by_path.image, pixels)
    same(detector(pixels), by_path)
    same(detector(Image.open(image)), by_path)
    bgr = detector(np.ascontiguousarray(pixels[..., ::-1]), bgr=True)
    same(bgr, by_path)
    np.testing.assert_array_equal(bgr.image, pixels)
    wide = np.zeros((96, 200, 3), np.uint8)
    wide[:, 50:146] = pixels
    same(detector(wide[:, 50:146]), by_path)
    same(detector(pixels.copy()[..., ::-1], bgr=True), by_path)
    grey = Image.open(image).convert("L")
    same(detector(grey), detector(np.asarray(grey)))
    same(detector(Image.open(image).convert("RGBA")), by_path)
    # Pillow's images, and files, are never BGR.
    some = detector([Image.open(image), np.ascontiguousarray(pixels[..., ::-1]), image], bgr=True)
    for found in some:
        same(found, by_path)
        np.testing.assert_array_equal(found.image, pixels)


def test_pillows_transparent_and_deep_images_are_not_mistaken(detector, image, tmp_path):
    glass = Image.open(image).convert("RGBA")
    glass.putalpha(Image.linear_gradient("L").resize(glass.size))
    glass.save(tmp_path / "glass.png")
    np.testing.assert_array_equal(detector(glass).image, detector(tmp_path / "glass.png").image)
    palette = Image.open(image).quantize(8)
    palette.save(tmp_path / "palette.png", transparency=3)
    np.testing.assert_array_equal(detector(Image.open(tmp_path / "palette.png")).image, detector(tmp_path / "palette.png").image)
    colour = Image.open(image).convert("RGB")
    colour.save(tmp_path / "colour.png", transparency=colour.getpixel((0, 0)))
    np.testing.assert_array_equal(detector(Image.open(tmp_path / "colour.png")).image, detector(tmp_path / "colour.png").image)
    for deep in (np.uint16, np.int32, np.float32):
        with pytest.raises(brightnet.InputError, match="more than 8 bits a pixel"):
            detector(Image.fromarray(np.full((96, 96), 1000, deep)))


def test_a_list_gives_a_list_in_its_order(detector, image, data):
    other = sorted((data / "images/val").iterdir())[1]
    some = detector([image, np.asarray(Image.open(other)), Image.open(image)])
    assert [len(found) for found in some] == [len(detector(one)) for one in (image, other, image)]
    same(some[0], detector(image))
    same(some[1], detector(other))
    assert detector([]) == []


def test_a_path_may_be_any_that_python_knows(detector, image):
    with os.scandir(image.parent) as entries:
        entry = next(entry for entry in entries if entry.name == image.name)
    found = detector(entry)
    same(found, detector(image))
    assert found.file == str(image)
    (in_a_list,) = detector([entry])
    same(in_a_list, found)


def test_a_folder_is_detected_one_image_after_the_other(detector, data, run):
    whole = list(detector(data / "images/val"))
    assert [found.file for found in whole] == sorted(str(file) for file in (data / "images/val").iterdir())
    by_pattern = list(detector(str(data / "images/val/*.jpg")))
    assert len(by_pattern) == len(whole)
    three_at_once = brightnet.Detector(run.weights, device="cpu", confidence=0.01, batch=3)
    for one, other in zip(whole, three_at_once(data / "images/val"), strict=True):
        assert one.file == other.file
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-3)


def test_a_folder_of_one_image_is_a_folder(detector, image, tmp_path):
    (tmp_path / "a.jpg").write_bytes(image.read_bytes())
    (tmp_path / "list.txt").write_text(str(tmp_path / "a.jpg"))
    for source in (tmp_path, tmp_path / "*.jpg", tmp_path / "list.txt"):
        (found,) = detector(source)
        assert isinstance(found, brightnet.Detections)
        same(found, detector(image))
        with pytest.raises(brightnet.InputError, match="not one image"):
            detector([source])
    (tmp_path / "a.jpg").write_bytes(b"no image")
    assert list(detector(tmp_path)) == []


def test_a_video_is_detected_frame_by_frame(detector, video):
    found = list(detector(video))
    assert [one.frame for one in found] == list(range(12))
    assert {one.file for one in found} == {str(video)}
    same(found[0], found[1])
    assert [one.frame for one in detector(video, every=5)] == [0, 5, 10]
    assert len(list(detector(video, frames=2))) == 2


def test_an_image_that_is_broken_is_skipped_in_a_folder_and_refused_alone(detector, image, tmp_path, caplog):
    (tmp_path / "a.jpg").write_bytes(image.read_bytes()[:500])
    (tmp_path / "b.jpg").write_bytes(image.read_bytes())
    assert [found.file for found in detector(tmp_path)] == [str(tmp_path / "b.jpg")]
    assert "a.jpg" in caplog.text
    with pytest.raises(brightnet.InputError, match="a.jpg"):
        detector(tmp_path / "a.jpg")


def test_names_that_are_not_utf8_are_names_too(detector, image, tmp_path, caplog):
    name = os.path.join(os.fsencode(tmp_path), b"caf\xe9.jpg")
    shutil.copy(image, name)
    broken = os.path.join(os.fsencode(tmp_path), b"br\xfbl\xe9.jpg")
    with open(broken, "wb") as file:
        file.write(b"no image")
    (found,) = detector(tmp_path)
    assert os.fsencode(found.file) == name
    assert "br\\xfbl\\xe9.jpg" in caplog.text
    same(detector(found.file), detector(image))
    with pytest.raises(brightnet.InputError, match=r"br\\xfbl\\xe9.jpg"):
        detector(os.fsdecode(broken))
    with pytest.raises(brightnet.InputError, match=r"caf\\xe9.jpg"):
        brightnet.Detector(os.fsdecode(name))
    with pytest.raises(brightnet.InputError, match=r"caf\\xe9.jpg"):
        brightnet.check(os.fsdecode(name))


def test_options_of_videos_are_refused_for_images(detector, image):
    for source in (image, image.parent, np.zeros((8, 8, 3), np.uint8)):
        for options in ({"frames": 3}, {"every": 2}):
            with pytest.raises(brightnet.InputError, match="frames and every are for videos"):
                detector(source, **options)
    for options in ({"frames": -1}, {"every": 0}):
        with pytest.raises(brightnet.InputError, match="at least"):
            detector(image, **options)


@pytest.mark.parametrize(
    "source, message",
    [
        ("nowhere.jpg", "nowhere.jpg"),
        (np.zeros((4, 4, 3), np.float32), "float32"),
        (np.zeros((4, 6, 2), np.uint8), "4 × 6 pixels of 2 channels"),
        (np.zeros((0, 4, 3), np.uint8), "0"),
        (np.zeros(4, np.uint8), r"\(4,\)"),
        (["."], "not one image"),
        (None, "a NoneType is no image.*; several in a list"),
        (b"photo.jpg", "a bytes is no image"),
        ((one for one in [1]), "a generator is no image"),
        ([None], "a NoneType is no image"),
    ],
)
def test_what_is_no_image_is_refused(detector, source, message, data, monkeypatch):
    monkeypatch.chdir(data / "images/val")
    with pytest.raises(brightnet.InputError, match=message):
        detector(source)


def test_a_cameras_number_may_be_numpys_and_is_not_true_or_false(detector, monkeypatch):
    asked = []

    class Camera:
        is_image, live = False, True

        def __init__(self, weights, source, frames, every):
            asked.append(source)

        def next(self):
            return None

    monkeypatch.setattr(brightnet._brightnet, "Frames", Camera)
    for number in (7, np.int64(7), np.uint8(7)):
        assert list(detector(number)) == []
    assert asked == ["7"] * 3
    for source in (True, np.bool_(True)):
        with pytest.raises(brightnet.InputError, match="True is neither an image nor a path. A camera is given by its number"):
            detector(source)


def test_an_export_is_for_the_program(run, data, tmp_path):
    exported = brightnet.export(run.weights, "onnx", tmp_path / "x.onnx")
    for call in (lambda: brightnet.Detector(exported), lambda: brightnet.evaluate(exported, data)):
        with pytest.raises(brightnet.InputError, match="the commands `brightnet eval` and `brightnet detect` run it"):
            call()


def test_weights_that_are_no_file_are_refused():
    with pytest.raises(brightnet.InputError, match="/nowhere/best.safetensors"):
        brightnet.Detector("/nowhere/best.safetensors")


def test_an_unknown_keyword_names_the_nearest(run):
    for call, message in [
        (lambda: brightnet.Detector(run.weights, conf=0.5), "Detector() has no keyword 'conf'. Did you mean confidence?"),
        (lambda: brightnet.export(run.weights, opsets=1), "export() has no keyword 'opsets'. Did you mean opset?"),
        (lambda: brightnet.open_weights(run.weights, x=1), "open_weights() has no keyword 'x'. It has weights, cfg, names, classes."),
    ]:
        with pytest.raises(brightnet.InputError) as error:
            call()
        assert str(error.value) == message


def test_options_are_heeded(run, image):
    everything = brightnet.Detector(run.weights, device="cpu", confidence=0.01)(image)
    name = str(everything.names[0])
    one_class = brightnet.Detector(run.weights, device="cpu", confidence=0.01, classes=[name])(image)
    assert set(one_class.names) == {name}
    assert len(brightnet.Detector(run.weights, device="cpu", confidence=0.01, max_objects=1)(image)) == 1
    assert len(brightnet.Detector(run.weights, device="cpu", confidence=1.0)(image)) == 0
    assert len(brightnet.Detector(run.weights, device="cpu", confidence=0.01, nms=1.0)(image)) > len(everything)
    tall, wide = (brightnet.Detector(run.weights, device="cpu", confidence=0.01, size=size)(image) for size in ((96, 32), (32, 96)))
    assert len(tall) != len(wide) or (tall.boxes != wide.boxes).any()
    number = int(everything.classes[0])
    same(brightnet.Detector(run.weights, device="cpu", confidence=0.01, classes=[number])(image), one_class)
    with pytest.raises(brightnet.DeviceError, match="fp16"):
        brightnet.Detector(run.weights, device="cpu", precision="fp16")
    with pytest.raises(brightnet.InputError):
        brightnet.Detector(run.weights, device="cpu", confidence=2)
    for wrong in ({"nms": -0.5}, {"max_objects": -1}, {"size": -64}, {"size": 0}):
        (word,) = wrong
        with pytest.raises(brightnet.InputError, match=f"{word} is"):
            brightnet.Detector(run.weights, device="cpu", **wrong)
    with pytest.raises(TypeError, match=r"Detector\(\): classes is 'circle' and must be a list."):
        brightnet.Detector(run.weights, device="cpu", classes="circle")
    with pytest.raises(TypeError, match=r"Detector\(\): frames is '3' and must be a whole number."):
        brightnet.Detector(run.weights, device="cpu")(image, frames="3")
    with pytest.raises(brightnet.DeviceError):
        brightnet.Detector(run.weights, device="cuda:99")


def test_each_object_is_drawn_in_the_colour_of_its_own_class():
    boxes = np.array([[20, 100, 120, 200], [260, 100, 360, 200]], np.float32)

    def halves(*classes):
        found = (boxes, np.ones(2, np.float32), np.array(classes, np.int64))
        picture = brightnet.Detections(found, ["cat", "dog"], np.zeros((300, 400, 3), np.uint8)).plot()
        return picture[:, :200], picture[:, 200:]

    cats, dogs, both = halves(0, 0), halves(1, 1), halves(0, 1)
    assert (cats[1] != dogs[1]).any()
    np.testing.assert_array_equal(both[0], cats[0])
    np.testing.assert_array_equal(both[1], dogs[1])


def test_a_notebook_shows_the_picture(detector, image):
    found = detector(image)
    before = found.image.copy()
    png = found._repr_png_()
    assert png.startswith(b"\x89PNG")
    picture = found.plot()
    assert picture.shape == (96, 96, 3) and (picture != found.image).any()
    np.testing.assert_array_equal(found.image, before)
    import io

    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png))), picture)


def test_results_outlive_the_detector(run, image):
    found = brightnet.Detector(run.weights, device="cpu", confidence=0.01)(image)
    copy = found.boxes.copy()
    same(found, brightnet.Detector(run.weights, device="cpu", confidence=0.01)(image))
    np.testing.assert_array_equal(found.boxes, copy)


def test_several_threads_may_call_one_detector(detector, image):
    expected = detector(image)
    problems = []

    def call():
        try:
            for _ in range(5):
                same(detector(image), expected)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_supervision_takes_what_was_found(detector, image):
    supervision = pytest.importorskip("supervision", reason="no supervision")
    found = detector(image)
    theirs = found.to_supervision()
    assert isinstance(theirs, supervision.Detections) and len(theirs) == len(found)
    np.testing.assert_array_equal(theirs.xyxy, found.boxes)
    np.testing.assert_array_equal(theirs.confidence, found.scores)
    np.testing.assert_array_equal(theirs.class_id, found.classes)
    assert list(theirs["class_name"]) == list(found.names)
