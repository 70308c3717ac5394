"""One process imports TensorFlow for all these tests and forks a fresh one for every snippet."""

import pytest

from labutils import traps


@pytest.fixture(scope="session")
def host():
    with traps.open_host() as host:
        yield host
