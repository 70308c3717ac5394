"""Replicas that share cores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labutils.theory.sharing import share_cores, shared_time


@given(st.integers(1, 40), st.integers(1, 40))
def test_no_more_than_cores_at_once_and_no_core_idle_while_one_waits(replicas, cores):
    events = share_cores(replicas, cores, 1.0)
    assert len(events) == replicas
    for event in events:
        at_work = sum(other.start <= event.start < other.end for other in events)
        assert at_work <= cores
        assert event.start == 0 or at_work == cores or event.start == max(e.start for e in events)
    assert shared_time(replicas, cores, 1.0) == -(-replicas // cores)


@pytest.mark.parametrize("bad", [(0, 2, 1.0), (2, 0, 1.0), (2, 2, -1.0), (1.5, 2, 1.0)])
def test_bad_input_is_a_sentence(bad):
    with pytest.raises(ValueError, match=r"^(replicas|cores|compute_time) must be .*, but it is"):
        share_cores(*bad)
