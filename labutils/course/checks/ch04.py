"""Checks of lab 04: a limit, a function without Python, a cache in its place, and four faults of a pipeline."""

import itertools
import numbers

import numpy as np
import tensorflow as tf

from labutils.bench import compare
from labutils.course.verdict import called, exercise, right, wrong
from labutils.theory import pipeline
from labutils.theory.timeline import StepSpec, predict_step
from labutils.train import pipelines
from labutils.train.pipelines.analysis.chain import chain

COSTS = {"read": 0.1e-3, "decode": 1.2e-3, "resize": 0.5e-3, "augment": 0.2e-3}  # s of one core for a sample
CORES, BATCH, COMPUTE = 8, 64, 0.020  # the job of exercise 1: COMPUTE in s a step
USED, SMALLEST_SPEEDUP = 192, 3.0
NEAR = 1e-3  # standardised pixels of two ways to compute them


@exercise
def numbers_of_a_job(limit, without_prefetch, with_prefetch):
    """The limit in samples/s, and the step times in ms without and with prefetch, at that limit."""
    most = pipeline.limit([pipeline.Stage(name, cost) for name, cost in COSTS.items()], CORES)
    steps = {"replicas": 1, "forward_time": COMPUTE, "backward_time": 0.0, "input_time": BATCH / most}
    total = f"{sum(COSTS.values()) * 1e3:g} ms of one core a sample"
    rows = [
        (limit, most, "limit in samples/s", f"{CORES} cores over {total}"),
        (
            without_prefetch,
            _milliseconds(steps, False),
            "step time without prefetch in ms",
            "the sum of input and compute",
        ),
        (with_prefetch, _milliseconds(steps, True), "step time with prefetch in ms", "the longer of input and compute"),
    ]
    for got, expected, name, why in rows:
        if isinstance(got, bool) or not isinstance(got, numbers.Real):
            return wrong(f"The {name} is a number, not {got!r}.")
        if abs(got / expected - 1) > 0.02:
            return wrong(f"The {name} is not {got:g}: it is {why}.")
    return right("Prefetch hides the shorter of the two. The longer one is the step.")


def _milliseconds(steps, prefetch):
    return predict_step(StepSpec(prefetch=prefetch, **steps)).step_time * 1e3


def standardise_in_numpy(image):
    """The image with mean 0 and standard deviation 1, computed in Python: what the learner rewrites."""
    return ((image - image.mean()) / image.std()).astype(np.float32)


@exercise
def in_tensorflow(answer):
    """`answer(image)` standardises one image as `standardise_in_numpy` does, without calling Python."""
    data = tf.data.Dataset.from_tensor_slices(_images()).map(lambda image: called(answer, image))
    if _calls_python(data):
        return wrong("It still calls Python, through numpy_function or py_function. Use operations of tf alone.")
    for image, got in zip(_images(), data, strict=True):
        if not isinstance(got, tf.Tensor) or got.shape != image.shape or got.dtype != tf.float32:
            return wrong(f"Return one float32 tensor of shape {image.shape}, not {getattr(got, 'shape', got)!r}.")
        expected = standardise_in_numpy(image)
        if np.abs(got.numpy() - expected).max() > NEAR:
            if np.abs(got.numpy().mean(axis=(0, 1))).max() < NEAR < np.abs(expected.mean(axis=(0, 1))).max():
                return wrong("Each channel was standardised by itself. Take mean and deviation over the whole image.")
            return wrong(
                f"The values differ: mean {got.numpy().mean():.3f} and deviation {got.numpy().std():.3f} instead of "
                "0 and 1, or the image is another one."
            )
    return right("The same values, and every core can work on them.")


def _images():
    random = np.random.default_rng(0)
    return np.stack([random.random((24, 24, 3), dtype=np.float32) * scale for scale in (1.0, 0.5, 3.0)])


def _calls_python(dataset):
    """Whether any stage of a dataset calls back into Python."""
    return any(stage.python for stage in chain(dataset))


@exercise
def cached(answer):
    """`answer(paths, load, augment)` gives 10 elements an epoch: each loaded once in all, augmented anew every time."""
    loads, draws = [], itertools.count()

    def load(number):
        return tf.numpy_function(lambda n: loads.append(int(n)) or np.float32(n), [number], tf.float32)

    def draw(value):  # tf.random would repeat itself in every epoch once a learner has called tf.random.set_seed
        return np.float32(value + 0.5 + next(draws) % 400 / 1000)

    def augment(value):
        return tf.numpy_function(draw, [value], tf.float32)

    data = called(answer, tf.data.Dataset.range(32), load, augment)
    if not isinstance(data, tf.data.Dataset):
        return wrong(f"Return a tf.data.Dataset, not {type(data).__name__}.")
    epochs = [[value.numpy() for value in data] for _ in range(3)]
    if any(np.ndim(value) for value in epochs[0]):
        return wrong("An element is one number: do not batch.")
    epochs = [[float(value) for value in epoch] for epoch in epochs]
    if [len(epoch) for epoch in epochs] != [10, 10, 10]:
        return wrong(f"An epoch has {len(epochs[0])} elements; it should have the first 10, one by one.")
    if [int(value) for value in epochs[0]] != list(range(10)):
        return wrong("The elements are not the first 10 in order, each augmented once.")
    if epochs[0] == epochs[1]:
        return wrong("The second epoch shows the augmentation of the first: the cache came too late.")
    if len(loads) != 10:
        kept = any(stage.kind == "cache" for stage in chain(data))
        why = "A cache is thrown away unless it is read to its end." if kept else "Nothing keeps what was loaded."
        return wrong(f"Three epochs loaded {len(loads)} elements. {why}")
    return right("Loaded once, augmented anew: cut, load, cache, augment.")


def load_photo(path, label):
    """One photograph as (float32 pixels of 128x128x3, label)."""
    return pipelines.photos.resize(pipelines.photos.decode(tf.io.read_file(path))), label


def faulty(paths, labels):
    """The pipeline to mend. It has four faults; none of them raises, and its elements are right."""

    def standardise(image, label):
        image = tf.numpy_function(standardise_in_numpy, [image], tf.float32)
        return tf.ensure_shape(image, (128, 128, 3)), label

    data = tf.data.Dataset.from_tensor_slices((paths, labels))
    data = data.map(load_photo).cache().take(USED)
    return data.map(standardise).shuffle(8).batch(32)


@exercise
def mended(answer):
    """`answer(paths, labels)` gives the elements of `faulty`, well mixed, at least three times as fast."""
    paths, labels = given()
    dataset = called(answer, paths, labels)
    if not isinstance(dataset, tf.data.Dataset):
        return wrong(f"Return a tf.data.Dataset, not {type(dataset).__name__}.")
    slow = faulty(paths, labels)
    problem = _other_elements(slow, dataset) or _badly_mixed(dataset)
    if problem:
        return wrong(problem)
    if _calls_python(dataset):
        return wrong("It still calls Python in a map.")
    # As they are written: else tf.data would run the given maps in parallel by itself, and hide one of the faults.
    sides = [pipelines.epoch(pipelines.as_written(side)) for side in (slow, dataset)]
    found = compare(*sides, budget=1.0, pairs=5)
    seen = f"An epoch is {found.ratio:.1f} times as fast as the given one"
    if found.ratio < SMALLEST_SPEEDUP:
        return wrong(f"{seen}; {SMALLEST_SPEEDUP:g} times are asked. {_what_is_left(dataset)}")
    alone = next((stage.label for stage in chain(dataset) if stage.kind == "map" and stage.calls is None), None)
    if alone:
        return wrong(f"{seen}, but {alone} makes one call at a time: the first epoch, which fills the cache, is slow.")
    return right(f"{seen}, with the same elements, and mixed.")


def given():
    """(paths, labels) of 256 photographs, sorted by label as folders hold them."""
    photos = pipelines.photos.write()
    return list(photos.files[::2]), photos.labels[::2]


def _elements(dataset):
    """All images and labels of an epoch, in an order of their own."""
    images, labels = zip(*((image.numpy(), label.numpy()) for image, label in dataset), strict=True)
    images, labels = np.concatenate(images), np.concatenate(labels)
    # A corner's pixels tell standardised photographs apart, however they were computed to the last digit.
    order = np.lexsort([*np.round(images[:, :3, 0, 0], 2).T, labels])
    return images[order], labels[order]


def _other_elements(slow, dataset):
    if dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
        return "The dataset never ends. One epoch is asked for: no repeat()."
    shape = tf.nest.map_structure(lambda spec: spec.shape.as_list()[1:], dataset.element_spec)
    if shape != ([128, 128, 3], []):
        return f"An element is a batch of images of 128x128x3 and of labels, not of {shape}."
    (images, labels), (expected, expected_labels) = _elements(dataset), _elements(slow)
    if len(images) != USED:
        return f"An epoch has {len(images)} images; the given one has {USED}."
    if not np.array_equal(labels, expected_labels):
        return "The labels are not those of the given pipeline. Which files does it use?"
    if np.abs(np.sort(images.mean(axis=(1, 2, 3))) - np.sort(expected.mean(axis=(1, 2, 3)))).max() > NEAR:
        return "The images are not standardised as the given ones are."
    if not _same_images(images, expected):
        return "The images are not those of the given pipeline."
    return ""


def _same_images(images, expected):
    """Whether each expected image is there, compared by a few numbers of each: order by rounded pixels may tie."""
    left, right_ = (np.sort(each[:, ::32, ::32].reshape(len(each), -1), axis=0) for each in (images, expected))
    return np.abs(left - right_).max() < 10 * NEAR


def _badly_mixed(dataset):
    first, second = ([label.numpy() for _, label in dataset] for _ in range(2))
    if len(set(first[0].tolist())) < 2:
        return "The first batch holds one class only: the shuffle's buffer is too small for sorted data."
    if all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)):
        return "Two epochs come in the same order: the cache keeps the shuffled order. Shuffle behind it."
    return ""


def _what_is_left(dataset):
    if not any(stage.kind == "cache" for stage in chain(dataset)):
        return "Every epoch decodes all files again."
    return "Is the cache read to its end, and do the maps run in parallel?"
