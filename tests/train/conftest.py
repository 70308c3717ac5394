"""Every test of this folder runs in one process with eight logical devices, as a chapter does."""

import pytest

from labutils.train import devices


@pytest.fixture(scope="session", autouse=True)
def machine():
    """Before any test of the folder: whichever comes first would start TensorFlow with one device for all others."""
    return devices.configure(replicas=8)


@pytest.fixture(scope="session")
def digits(machine):
    from labutils.train import data

    return data.digits()
