"""Devices: what configure promises, when it refuses, and that replica counts may change."""

import json
import subprocess
import sys

import numpy as np
import pytest

from labutils.train import devices


def fresh(source):
    """Run `source` in a process of its own; what it prints as JSON."""
    result = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr[-2000:]
    return json.loads(result.stdout), result.stderr


def test_a_second_call_is_safe_and_a_smaller_one_too(machine):
    assert devices.configure(replicas=8).devices == machine.devices
    assert devices.configure(replicas=2).replicas >= 2


def test_more_devices_than_the_started_kernel_has_means_restart(machine):
    with pytest.raises(RuntimeError, match="Restart the kernel and run the set-up cell first"):
        devices.configure(replicas=9)


@pytest.mark.parametrize("count", [0, -1, 2.0, "4", True, None, 17])
def test_a_bad_count_is_answered_in_a_sentence(machine, count):
    for call in (devices.configure, devices.mirrored):
        with pytest.raises(ValueError, match="whole number from 1 to 16"):
            call(count)


def test_more_replicas_than_devices_names_the_devices_there_are(machine):
    with pytest.raises(RuntimeError, match=r"9 replicas need 9 devices.*CPU:0 to CPU:7"):
        devices.mirrored(9)


def test_the_machine_says_what_cannot_be_shown(machine):
    text = str(machine)
    assert "share" in text and "GPU" in text
    html = machine._repr_html_()
    assert "<code>MirroredStrategy</code>" in html and f"{machine.cores} usable cores" in html


def test_replica_counts_change_within_one_process(machine):
    sums = []
    for replicas in (2, 4, 8, 4, 2):
        strategy = devices.mirrored(replicas)
        summed = strategy.run(lambda: _sum_of_ones())
        sums.append([float(value) for value in strategy.experimental_local_results(summed)])
    assert sums == [[float(n)] * n for n in (2, 4, 8, 4, 2)]


def _sum_of_ones():
    import tensorflow as tf

    return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))


TOO_LATE = """
import json
import tensorflow as tf
tf.constant(1.0) + 1
from labutils.train import devices
try:
    devices.configure(4)
    print(json.dumps("went on"))
except RuntimeError as error:
    print(json.dumps(str(error)))
"""


def test_called_too_late_it_says_restart_and_does_not_go_on_with_one_device():
    message, _ = fresh(TOO_LATE)
    assert message.startswith("TensorFlow has already started in this kernel, with 1 CPU device")
    assert "Restart the kernel" in message


QUIET = """
import json
from labutils.train import devices
machine = devices.configure(4)
strategy = devices.mirrored(4)
print(json.dumps(machine.replicas))
"""


def test_set_up_prints_nothing_on_any_channel():
    replicas, stderr = fresh(QUIET)
    assert replicas == 4
    assert stderr == ""


def test_a_failing_import_still_shows_what_tensorflow_wrote():
    from labutils.train._quiet import silenced_stderr

    with pytest.raises(OSError) as caught, silenced_stderr():
        import os

        os.write(2, b"the native reason\n")
        raise OSError("no")
    assert any("the native reason" in note for note in caught.value.__notes__)


def test_data_is_the_same_every_time_and_cannot_be_written_to(digits):
    from labutils.train import data

    again = data._split("x", *(np.array(a) for a in (digits.x_train, digits.y_train, digits.x_test, digits.y_test)))
    assert digits.x_train.shape == (1280, 8, 8, 1) and digits.x_test.shape == (517, 8, 8, 1)
    assert digits.x_train.dtype == np.float32 and digits.x_train.min() >= 0 and digits.x_train.max() == 1
    assert digits.classes == again.classes == 10
    assert np.bincount(digits.y_train).min() > 100  # every class is there in numbers
    with pytest.raises(ValueError, match="read-only"):
        digits.x_train[0] = 0
    data.digits.cache_clear()
    np.testing.assert_array_equal(data.digits().x_train, digits.x_train)
    assert not np.array_equal(data.digits(seed=1).y_train, digits.y_train)


@pytest.mark.parametrize("fetch", ["mnist", "cifar10"])
def test_no_network_is_a_sentence_that_names_the_offline_data(machine, monkeypatch, fetch):
    import socket

    import keras

    from labutils.train import data

    def refuse(*_, **__):
        raise OSError("URL fetch failure: [Errno -3] Temporary failure in name resolution\nmore lines")

    before = socket.getdefaulttimeout()
    monkeypatch.setattr(getattr(keras.datasets, fetch), "load_data", refuse)
    with pytest.raises(ConnectionError, match=f"{fetch} could not be fetched .*name resolution.*data.digits"):
        getattr(data, fetch)()
    assert socket.getdefaulttimeout() == before


def test_downloaded_images_get_the_same_form(machine, monkeypatch):
    import keras

    from labutils.train import data

    raw = (np.full((3, 28, 28), 255, np.uint8), np.array([[0], [1], [2]]))
    monkeypatch.setattr(keras.datasets.mnist, "load_data", lambda: (raw, raw))
    split = data.mnist()
    assert split.x_train.shape == (3, 28, 28, 1) and split.x_train.max() == 1
    assert split.y_test.tolist() == [0, 1, 2]
