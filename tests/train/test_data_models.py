"""Data that is the same every time and never leaks, and models that start alike wherever they are made."""

import socket
import time

import numpy as np
import pytest

from labutils.train import data, devices, models

MAKERS = {"mlp": models.mlp, "conv": models.conv, "normalised_mlp": models.normalised_mlp}


def bytes_of(images):
    return [image.tobytes() for image in images]


# --- digits ---


def test_the_split_keeps_every_digit_once(digits):
    from sklearn.datasets import load_digits

    given = sorted(bytes_of((load_digits().images / 16).astype(np.float32)))
    assert sorted(bytes_of(digits.x_train) + bytes_of(digits.x_test)) == given


def test_no_image_is_both_trained_on_and_tested(digits):
    assert not set(bytes_of(digits.x_train)) & set(bytes_of(digits.x_test))


@pytest.mark.parametrize("seed", [0, 7])
def test_a_seed_gives_one_split_and_another_seed_another(digits, seed):
    first = data.digits(seed)
    data.digits.cache_clear()
    again = data.digits(seed)
    assert first is not again
    for name in ("x_train", "y_train", "x_test", "y_test"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert bytes_of(data.digits(seed + 1).x_train) != bytes_of(first.x_train)


def test_every_batch_a_chapter_takes_divides_the_training_set(digits):
    assert all(len(digits.x_train) % batch == 0 for batch in (16, 32, 64, 128, 256))
    assert repr(digits) == "digits: 1280 training and 517 test images of 8x8x1, 10 classes"


# --- sets that need the network ---


@pytest.fixture
def no_downloads_kept(monkeypatch, tmp_path):
    """An empty cache of Keras, so that a set that this machine has already does not answer for the network."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    import keras.src.utils.file_utils as files

    monkeypatch.setattr(files.config, "keras_home", lambda: str(tmp_path))


def serve_at(monkeypatch, port):
    """Let Keras fetch from this port of this machine, whatever address it was given."""
    import keras.src.utils.file_utils as files

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    real = files.urlretrieve
    monkeypatch.setattr(files, "urlretrieve", lambda _, *rest: real(f"http://127.0.0.1:{port}/set", *rest))


@pytest.fixture
def closed_port():
    """A port that refuses: bound, so that nobody else takes it, and never listened on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.mark.parametrize("fetch", [data.mnist, data.cifar10], ids=["mnist", "cifar10"])
def test_a_refused_download_is_a_sentence_that_names_the_offline_data(
    machine, monkeypatch, no_downloads_kept, closed_port, fetch
):
    serve_at(monkeypatch, closed_port)
    with pytest.raises(ConnectionError) as caught:
        fetch()
    sentence = str(caught.value)
    assert sentence.startswith(f"{fetch.__name__} could not be fetched (") and "refused" in sentence
    assert sentence.endswith("Offline, use data.digits(): it comes with scikit-learn.") and "\n" not in sentence


def test_a_server_that_says_nothing_is_given_up(machine, monkeypatch, no_downloads_kept):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        serve_at(monkeypatch, silent.getsockname()[1])
        before, began = socket.getdefaulttimeout(), time.monotonic()
        with pytest.raises(ConnectionError, match=r"mnist could not be fetched .*timed out"):
            data.mnist(timeout=0.5)
    assert time.monotonic() - began < 60  # it would wait for ever otherwise
    assert socket.getdefaulttimeout() == before


# --- models ---


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_model_starts_alike_on_any_strategy_and_another_seed_elsewhere(machine, make):
    alone = make(seed=3).get_weights()
    with devices.mirrored(2).scope():
        mirrored = make(seed=3).get_weights()
    assert all(np.array_equal(a, b) for a, b in zip(alone, mirrored, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(alone, make(seed=4).get_weights(), strict=True))


def test_layers_of_one_shape_do_not_start_alike(machine):
    first, second = (layer.get_weights()[0] for layer in models.mlp().layers[1:3])
    assert first.shape == second.shape == (64, 64) and not np.array_equal(first, second)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_models_give_logits_for_the_shape_they_are_asked_for(machine, make):
    logits = make(shape=(28, 28, 3), classes=7)(np.zeros((2, 28, 28, 3), np.float32))
    assert logits.shape == (2, 7)
    logits = make()(data.digits().x_train[:5])
    assert logits.shape == (5, 10) and float(np.min(logits)) < 0  # probabilities would not be below 0


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_gradient_bytes_are_those_of_the_gradients_themselves(machine, digits, make):
    import tensorflow as tf

    model = make()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(digits.x_train[:4], training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    assert models.gradient_bytes(model) == sum(gradient.numpy().nbytes for gradient in gradients)


def test_what_is_not_trained_sends_no_gradients(machine):
    model = models.normalised_mlp()
    all_bytes = sum(weight.nbytes for weight in model.get_weights())
    moving = 2 * 64 * 4  # moving mean and variance of 64 units
    assert models.gradient_bytes(model) == all_bytes - moving
    model.layers[-1].trainable = False
    assert models.gradient_bytes(model) == all_bytes - moving - (64 * 10 + 10) * 4


def test_gradient_bytes_count_once_under_a_strategy(machine):
    with devices.mirrored(4).scope():
        model = models.mlp()
    assert models.gradient_bytes(model) == models.gradient_bytes(models.mlp())


def test_only_synchronised_normalisation_is_said_to_be(machine):
    for synchronized in (False, True):
        layers = models.normalised_mlp(synchronized=synchronized).layers
        assert [layer.synchronized for layer in layers if hasattr(layer, "synchronized")] == [synchronized]
