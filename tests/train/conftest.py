"""Every test of this folder runs in one process with eight logical devices, as a chapter does."""

import pytest

from labutils.train import devices

# Here and not in a fixture: tests make their examples while they are collected, and the first operation of TensorFlow
# would fix one device for the whole process.
MACHINE = devices.configure(replicas=8)


@pytest.fixture(scope="session")
def machine():
    return MACHINE


@pytest.fixture(scope="session")
def digits(machine):
    from labutils.train import data

    return data.digits()
