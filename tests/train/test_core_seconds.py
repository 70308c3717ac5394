"""Work, waiting for a core, and mere waiting: what the meter makes of the system's accounts."""

from types import SimpleNamespace

import pytest

from labutils.train.pipelines.analysis import core_seconds
from labutils.train.pipelines.analysis.core_seconds import Meter


@pytest.mark.parametrize(("stolen", "waited"), [(0.0, 2.0), (0.5, 1.5), (5.0, 0.0)])
def test_what_the_host_takes_away_is_no_waiting_of_the_program(monkeypatch, stolen, waited):
    """Two seconds on the wall without work: as far as the host had the cores, nobody can say that the program slept."""
    accounts = iter([{"steal": 1.0}, {"steal": 1.0 + stolen}])
    machine = {"user": 0.0, "system": 0.0, "idle": 0.0}
    monkeypatch.setattr(core_seconds.psutil, "cpu_times", lambda: SimpleNamespace(**machine, **next(accounts)))
    monkeypatch.setattr(core_seconds, "_run_delay", lambda: 0.0)
    monkeypatch.setattr(core_seconds.time, "process_time", lambda: 0.0)
    spent = Meter().spent(2.0)
    assert spent.delay == pytest.approx(stolen) and spent.waiting == pytest.approx(waited)
