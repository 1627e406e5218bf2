"""Dataset and check()."""

import gc
import os
import pathlib
import shutil
import threading

import numpy as np
import pytest

import brightnet
from conftest import make_data


def dataset(data, **settings):
    return brightnet.Dataset(data, batch=4, size=(64, 96), **{"train.seed": 3, "loader.workers": 1, **settings})


def test_it_yields_the_batches_of_a_training(data):
    batches = dataset(data, epochs=2)
    assert len(batches) == 6 and batches.steps_per_epoch == 3
    seen = list(batches)
    assert [(batch.epoch, batch.step) for batch in seen] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    for batch in seen:
        assert batch.images.shape == (4, 64, 96, 3) and batch.images.dtype == np.uint8
        assert batch.images.flags.c_contiguous and batch.images.flags.writeable
        assert batch.targets.shape[1] == 6 and batch.targets.dtype == np.float32 and len(batch.targets) > 0
        assert set(batch.targets[:, 0].astype(int)) <= set(range(4))
        assert (batch.targets[:, 1] < len(batches.classes)).all()
        assert (batch.targets[:, 2:] >= 0).all() and (batch.targets[:, 2:] <= 1).all()
    for first, again in zip(seen, batches, strict=True):
        np.testing.assert_array_equal(first.images, again.images)
        np.testing.assert_array_equal(first.targets, again.targets)


def test_targets_are_the_boxes_of_the_images_where_nothing_is_augmented(data):
    plain = {"augment.mosaic": 0, "augment.flip": 0, "augment.jitter": 0, "augment.hue": 0, "train.seed": 3, "loader.workers": 0}
    batches = list(brightnet.Dataset(data, batch=4, size=96, **plain))
    seen = np.concatenate([batch.targets[:, 1:] for batch in batches])
    files = (data / "labels/train").glob("*.txt")
    labels = np.array([line.split() for file in files for line in file.read_text().splitlines()], np.float32)
    assert len(seen) == len(labels)
    np.testing.assert_allclose(seen[np.lexsort(seen.T)], labels[np.lexsort(labels.T)], atol=2e-3)
    assert all((np.diff(batch.targets[:, 0]) >= 0).all() for batch in batches), "image after image"
    other = next(iter(brightnet.Dataset(data, batch=4, size=96, **{**plain, "train.seed": 4})))
    assert (other.images != batches[0].images).any()


@pytest.mark.parametrize("workers", [0, 2])
def test_arrays_stay_as_they_are(data, workers):
    """After later batches, which take other memory, and after the data set itself."""
    batches = dataset(data, epochs=4, **{"loader.workers": workers})
    seen = [(batch.images, batch.images.copy()) for batch in batches]
    del batches
    gc.collect()
    addresses = {images.__array_interface__["data"][0] for images, _ in seen}
    assert len(addresses) == len(seen) == 12
    for images, copy in seen:
        np.testing.assert_array_equal(images, copy)
    last = seen[-1][0][1:, ::2]
    seen.clear()
    gc.collect()
    assert last.sum() > 0


def test_memory_is_used_again_when_nobody_has_it(data):
    batches = dataset(data, epochs=8, **{"loader.prefetch": 1, "loader.workers": 1})
    addresses = set()
    for batch in batches:
        addresses.add(batch.images.__array_interface__["data"][0])
        del batch
    assert len(addresses) <= 4, "24 batches, of which one or two are there at a time"


def test_nothing_is_copied(data):
    batch = next(iter(dataset(data)))
    view = np.from_dlpack(batch.images)
    assert view.__array_interface__["data"] == batch.images.__array_interface__["data"]
    batch.images[0, 0, 0, 0] = 7
    assert view[0, 0, 0, 0] == 7


def test_pytorch_takes_it_without_a_copy(data):
    torch = pytest.importorskip("torch", reason="no PyTorch")
    batch = next(iter(dataset(data)))
    tensor = torch.from_dlpack(batch.images)
    copy = batch.images.copy()
    assert tensor.data_ptr() == batch.images.__array_interface__["data"][0]
    del batch
    gc.collect()
    np.testing.assert_array_equal(tensor.numpy(), copy)


def test_threads_may_share_an_iterator(data):
    """Each batch comes to one of them: none is lost, and nothing hangs."""
    batches = dataset(data, epochs=100, **{"loader.workers": 2})
    shared, seen = iter(batches), []

    def take():
        for batch in shared:
            seen.append((batch.epoch, batch.step))

    threads = [threading.Thread(target=take, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert sorted(seen) == [(epoch, step) for epoch in range(100) for step in range(3)]
    assert list(shared) == []


def test_mistakes_are_refused(data, tmp_path):
    with pytest.raises(brightnet.InputError, match="nowhere"):
        brightnet.Dataset(tmp_path / "nowhere")
    with pytest.raises(brightnet.InputError, match="at least 1"):
        brightnet.Dataset(data, batch=0)
    with pytest.raises(brightnet.InputError, match="at least 1"):
        brightnet.Dataset(data, epochs=-1)
    with pytest.raises(brightnet.InputError, match="size is -64"):
        brightnet.Dataset(data, size=-64)
    with pytest.raises(brightnet.InputError, match="train.size: give size instead"):
        brightnet.Dataset(data, **{"train.size": 96})
    with pytest.raises(brightnet.InputError, match="'train.sizes' has no effect on batches"):
        brightnet.Dataset(data, **{"train.sizes": [64, 128]})
    with pytest.raises(brightnet.InputError, match=r"Dataset\(\) has no keyword 'batches'. Did you mean batch\?"):
        brightnet.Dataset(data, batches=3)


def test_an_image_that_vanished_is_named(tmp_path):
    make_data(tmp_path / "set")
    batches = dataset(tmp_path / "set", **{"loader.workers": 0})
    for file in (tmp_path / "set/images/train").iterdir():
        file.unlink()
    with pytest.raises(brightnet.InputError, match="images/train"):
        list(batches)


def test_a_path_that_is_given_for_a_key_is_that_path(data, tmp_path):
    for name, count in (("v", 1), ("v #2", 2)):
        (tmp_path / name).mkdir()
        for image in sorted((data / "images/val").iterdir())[:count]:
            shutil.copy(image, tmp_path / name)
            shutil.copy(data / "labels/val" / (image.stem + ".txt"), tmp_path / name)
    wanted = brightnet.check(data, **{"data.val": [tmp_path / "v #2"]})
    assert wanted != brightnet.check(data, **{"data.val": tmp_path / "v"})
    for value in (tmp_path / "v #2", str(tmp_path / "v #2")):
        assert brightnet.check(data, **{"data.val": value}) == wanted


@pytest.mark.parametrize("text", ["a #1", "a: b", "", "~", "null", "@x", "%x", "|", "'q'", '"', "ä\n", "auto"])
def test_a_text_that_is_given_for_a_key_is_that_text(data, text):
    for value in (text, pathlib.Path(text)):
        with pytest.raises(brightnet.InputError) as error:
            brightnet.check(data, **{"data.format": value})
        assert f"'format' is '{value}' and must be one of" in str(error.value)
    with pytest.raises(brightnet.InputError, match=r"'format' is '\[v\]'"):
        brightnet.check(data, **{"data.format": pathlib.Path("[v]")})
    assert brightnet.check(data, **{"data.classes": '["circle", "square", "triangle"]'})  # a list, as the command line has it


def test_a_path_that_is_not_utf8_may_be_a_setting(data, tmp_path):
    folder = os.fsencode(tmp_path) + b"/v\xff"
    shutil.copytree(os.fsencode(data), folder)
    for images in (os.fsdecode(folder) + "/images/val", pathlib.Path(os.fsdecode(folder), "images/val")):
        settings = {"data.val": images}
        assert brightnet.check(data, settings=settings)["usable"]
        assert len(dataset(data, **settings)) == 3
    with pytest.raises(brightnet.InputError, match=r"v\\xff/none"):
        brightnet.check(data, settings={"data.val": os.fsdecode(folder) + "/none"})


@pytest.mark.parametrize("value", ["images/v\0al", pathlib.Path("v\0"), ["images/val", "v\0"]])
def test_a_setting_has_no_nul(data, value):
    with pytest.raises(brightnet.InputError, match=r"^check\(\): data.val is .*, and no name has the character NUL"):
        brightnet.check(data, settings={"data.val": value})


def test_check_says_what_is_wrong(data, tmp_path):
    answer = brightnet.check(data)
    assert answer["usable"] is True
    assert len(answer["classes"]) > 1
    assert brightnet.check(data, **{"data.single_class": True})["classes"] == ["object"]
    make_data(tmp_path / "set")
    next((tmp_path / "set/images/train").iterdir()).write_bytes(b"no image")
    assert brightnet.check(tmp_path / "set")["usable"] is False
    with pytest.raises(brightnet.InputError):
        brightnet.check(tmp_path / "nowhere")
