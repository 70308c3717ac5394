"""The real workload: JPEG files of all sizes on disk, and the same files in sharded TFRecords.

The pixels are those of the two photographs that scikit-learn packages, cut into many crops, so nothing is downloaded.
They lie in `.cache/photos` beside the course; delete the folder whenever you like, it is written again.
"""

import functools
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

FOLDER = Path(__file__).resolve().parents[3] / ".cache" / "photos"
COUNT, SHARDS = 512, 8
SMALLEST, LARGEST = 160, 360  # pixels of a crop's sides
QUALITY = 90
CLASSES = ("china", "flower")  # the two photographs
SIZE = 128  # pixels of a side after resizing
BATCH = 32


@dataclass(frozen=True)
class Photos:
    """Where they lie: `files` sorted by class as folders hold them, the `labels` (0 or 1) of each, the `shards`."""

    folder: Path
    files: tuple[str, ...]
    labels: np.ndarray
    shards: tuple[str, ...]

    def __repr__(self):
        size = sum(os.path.getsize(file) for file in self.files)
        return (
            f"photos: {len(self.files)} JPEG files of {len(CLASSES)} classes, {size / 1e6:.1f} MB, "
            f"and the same in {len(self.shards)} TFRecord shards"
        )


@functools.cache
def write(folder=None, count=COUNT, seed=0):
    """The photographs as Photos; written to `folder` the first time, about a second's work.

    `count` crops, half of each class, of 160 to 360 pixels a side. Raises OSError with a sentence where the folder
    cannot be written, ValueError for a count that is odd or below the number of shards.
    """
    if count % 2 or count < SHARDS:
        raise ValueError(f"count must be even and at least {SHARDS}, one for each shard, not {count}.")
    home = Path(folder or os.environ.get("LABUTILS_PHOTOS") or FOLDER) / f"{count}-{seed}"
    if not home.is_dir():  # it appears as a whole, by a rename: a killed kernel leaves no half of it
        _write_whole(home, count, seed)
    files = tuple(str(file) for name in CLASSES for file in sorted((home / name).glob("*.jpg")))
    labels = np.repeat(np.arange(len(CLASSES), dtype=np.int32), count // 2)
    return Photos(home, files, labels, tuple(map(str, sorted(home.glob("*.tfrecord")))))


def decode(jpeg):
    """A JPEG's bytes as uint8 pixels of shape (height, width, 3)."""
    return tf.io.decode_jpeg(jpeg, channels=3)


def resize(image, size=SIZE):
    """Pixels of any size as float32 in [0, 1] of shape (size, size, 3)."""
    return tf.image.resize(image, (size, size)) / 255.0


def augment(image):
    """The image, perhaps mirrored and a little darker or brighter: another one in every epoch."""
    return tf.image.random_brightness(tf.image.random_flip_left_right(image), 0.1)


def parse(record):
    """(JPEG bytes, label) of one TFRecord."""
    features = {"jpeg": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    example = tf.io.parse_single_example(record, features)
    return example["jpeg"], tf.cast(example["label"], tf.int32)


def _write_whole(home, count, seed):
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".making-", dir=home.parent))
    except OSError as error:
        raise OSError(f"The photographs cannot be written to {home.parent}: {error}. Free some space there.") from error
    try:
        jpegs = _crops(count, np.random.default_rng(seed))
        _write_files(made, jpegs)
        _write_shards(made, jpegs, np.random.default_rng(seed + 1))
        os.rename(made, home)
    except OSError as error:
        if not home.is_dir():  # where another kernel was quicker, its files do
            raise OSError(f"The photographs cannot be written to {home}: {error}. Free some space there.") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _crops(count, random):
    """`count` pairs of (JPEG bytes, label), sorted by label."""
    from sklearn.datasets import load_sample_image

    jpegs = []
    for label, name in enumerate(CLASSES):
        photograph = load_sample_image(f"{name}.jpg")
        for _ in range(count // len(CLASSES)):
            high, wide = random.integers(SMALLEST, LARGEST, size=2, endpoint=True)
            top, left = (
                random.integers(full - part + 1)
                for full, part in ((photograph.shape[0], high), (photograph.shape[1], wide))
            )
            crop = photograph[top : top + high, left : left + wide]
            jpegs.append((tf.io.encode_jpeg(crop, quality=QUALITY).numpy(), label))
    return jpegs


def _write_files(folder, jpegs):
    for number, (jpeg, label) in enumerate(jpegs):
        home = folder / CLASSES[label]
        home.mkdir(exist_ok=True)
        (home / f"{number:05}.jpg").write_bytes(jpeg)


def _write_shards(folder, jpegs, random):
    """TFRecords are read from start to end, so they are written in mixed order."""
    order = random.permutation(len(jpegs))
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(str(folder / f"photos-{shard:02}-of-{SHARDS:02}.tfrecord")) as writer:
            for number in order[shard::SHARDS]:
                writer.write(_example(*jpegs[number]).SerializeToString())


def _example(jpeg, label):
    feature = {
        "jpeg": tf.train.Feature(bytes_list=tf.train.BytesList(value=[jpeg])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))
