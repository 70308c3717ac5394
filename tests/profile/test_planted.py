"""Jobs that are really run and captured, each with a planted bottleneck: `diagnose` names it, and is sure of no other.

LABUTILS_PLANTED=3 captures each job three times.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labutils import processes
from labutils.profile import diagnose

JOBS = Path(__file__).parent / "jobs" / "planted.py"
CAPTURES = int(os.environ.get("LABUTILS_PLANTED", "1"))
DEADLINE = 180  # s for a job, ten on an idle machine
LEAST_RIGHT = 0.9
#: {job: the verdict, and the causes that count as right}
EXPECTED = {
    "healthy": ("compute-bound", {"busy-device"}),
    "heavy_compute": ("compute-bound", {"busy-device"}),
    "slow_map": ("input-bound", {"input-bound"}),
    "py_function": ("input-bound", {"python-in-input"}),
    "tiny_operators": ("host-bound", {"tiny-operators"}),
    "small_batch": ("host-bound", {"small-batch"}),
    "callback": ("host-bound", {"host-work"}),
    "retracing": ("host-bound", {"retracing"}),
    "slow_link": ("communication-bound", {"communication-bound"}),
    "straggler": ("compute-bound", {"straggling-replica"}),
    "compiled": ("compute-bound", {"busy-device"}),
    "python_in_model": ("host-bound", {"python-in-model"}),
    "checkpoints": ("host-bound", {"uneven-steps"}),
}


def capture(job, folder):
    """Run a job in a process of its own, which is killed at its deadline."""
    command = [sys.executable, str(JOBS), job, str(folder)]
    child = processes.launch(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        said = child.communicate(timeout=DEADLINE)[0].decode(errors="replace")
        assert child.returncode == 0, f"{job} ended with {child.returncode}:\n{said[-2000:]}"
    finally:
        processes.stop(child, grace=0)
        child.stdout.close()


@pytest.fixture(scope="module")
def diagnoses(tmp_path_factory):
    """[(job, Diagnosis)] of every job, as often as asked for."""
    found = []
    for job in EXPECTED:
        for number in range(CAPTURES):
            folder = tmp_path_factory.mktemp(f"{job}{number}")
            capture(job, folder)
            found.append((job, diagnose(folder)))
    return found


def right(job, diagnosis):
    verdict, causes = EXPECTED[job]
    return diagnosis.verdict == verdict and diagnosis.cause in causes


def confusion(diagnoses):
    """The matrix of jobs and named causes, in counts, with those at high confidence in brackets."""
    causes = sorted({found.cause or "none" for _, found in diagnoses})
    heads = [f"{number}" for number in range(1, len(causes) + 1)]
    lines = ["".join([" " * 16, *(f"{head:>9}" for head in heads)])]
    for job in EXPECTED:
        cells = []
        for cause in causes:
            here = [found for name, found in diagnoses if name == job and (found.cause or "none") == cause]
            sure = sum(found.confidence == "high" for found in here)
            cells.append(f"{len(here)} ({sure})" if here else ".")
        lines.append("".join([f"{job:16}", *(f"{cell:>9}" for cell in cells)]))
    return "\n".join([*lines, *(f"  {head} = {cause}" for head, cause in zip(heads, causes, strict=True))])


def test_nine_of_ten_are_named(diagnoses, record_property):
    table = confusion(diagnoses)
    record_property("table: planted jobs (rows) and what diagnose named as the cause (columns)", table)
    assert sum(right(job, found) for job, found in diagnoses) >= LEAST_RIGHT * len(diagnoses) - 1e-9, f"\n{table}"


def test_none_is_wrong_at_high_confidence(diagnoses):
    sure = [(job, str(found)) for job, found in diagnoses if found.confidence == "high" and not right(job, found)]
    assert not sure, "\n\n".join(f"{job}:\n{said}" for job, said in sure)


def test_every_verdict_has_its_evidence_and_remedies_on_one_screen(diagnoses):
    for job, found in diagnoses:
        assert found.evidence and any(any(map(str.isdigit, each)) for each in found.evidence), job
        assert found.remedies and len(str(found).splitlines()) <= 45, job
        assert sum(found.shares.values()) == pytest.approx(1), job
