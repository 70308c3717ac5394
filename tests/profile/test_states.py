"""Captures in every state that they come in: each is read, or gets one honest sentence."""

import gzip
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labutils.profile import BadCapture, command, diagnose, official, xplane


def look(place, **how):
    return diagnose(place, with_official=False, **how)


def test_the_newest_run_is_read_and_any_other_by_its_name(usual, made, tmp_path):
    usual().write(tmp_path, run="2026_01_02_03_04_05")
    rest = [(made.PYTHON, "IteratorGetNextOp::DoCompute", 0, 9, {}), (made.COMPUTE, "a:MatMul", 9, 1, {})]
    made().steps(8, 10, rest=rest).write(tmp_path, run="2025_11_30_00_00_00")
    assert look(tmp_path).run == "2026_01_02_03_04_05" and "newest of 2" in look(tmp_path).notes[0]
    assert look(tmp_path, run="2025_11_30_00_00_00").verdict == "input-bound"
    with pytest.raises(BadCapture, match=r"There is no run mine in .* There are: 2025_11_30_00_00_00, 2026"):
        look(tmp_path, run="mine")


def test_a_run_and_a_file_can_be_named_directly(usual, tmp_path):
    path = usual().write(tmp_path)
    assert look(path).segments == look(path.parent).segments == look(tmp_path).segments


def test_a_copy_of_a_host_is_no_second_host(usual, tmp_path):
    usual().write(tmp_path, host="worker0")
    usual().write(tmp_path, host="worker1")
    assert any("Worker1 is a copy of worker0" in note for note in look(tmp_path).notes)


def test_one_host_that_cannot_be_read_is_left_out_and_told(usual, tmp_path):
    usual().write(tmp_path, host="worker0")
    (tmp_path / "plugins/profile/2026_01_02_03_04_05/worker1.xplane.pb").write_bytes(b"")
    seen = look(tmp_path)
    assert seen.verdict == "compute-bound" and any("worker1.xplane.pb" in note for note in seen.notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "it is empty"), (b"hello, this is no protocol buffer" * 9, "mangled"), (b"\x0a\xff\xff\xff\x7f", "cut off")],
)
def test_what_is_no_capture_gets_a_sentence(tmp_path, content, words):
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(content)
    with pytest.raises(BadCapture, match=words):
        look(path)


@pytest.fixture
def content(usual):
    return usual().space().SerializeToString()


def test_a_capture_cut_anywhere_is_told_or_still_right(content, tmp_path):
    lots = random.Random(0)
    for _ in range(60):
        path = tmp_path / "host.xplane.pb"
        path.write_bytes(content[: lots.randrange(1, len(content) - 1)])
        try:
            assert look(path).verdict in ("compute-bound", "cannot tell", "host-bound")
        except BadCapture as error:
            assert "host.xplane.pb" in str(error)


def test_flipped_bytes_never_raise_anything_else(content, tmp_path):
    lots = random.Random(1)
    path = tmp_path / "host.xplane.pb"
    for _ in range(150):
        spoilt = bytearray(content)
        for _ in range(lots.randrange(1, 6)):
            spoilt[lots.randrange(len(spoilt))] = lots.randrange(256)
        path.write_bytes(bytes(spoilt))
        try:
            str(look(path))
        except BadCapture as error:
            assert str(error).startswith("host.xplane.pb")


@given(st.binary(max_size=200))
def test_any_bytes_at_all(content):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "host.xplane.pb"
        path.write_bytes(content)
        try:
            str(look(path))
        except BadCapture as error:
            assert str(error).startswith("host.xplane.pb")


def test_of_a_huge_capture_the_beginning_is_read_and_said(usual, tmp_path, monkeypatch):
    path = usual(4000).write(tmp_path)
    monkeypatch.setattr(xplane, "CHUNK", 100_000)  # so that the longest line is read in pieces, too
    space = xplane.read(path, most_bytes=200_000)
    assert space.share < 0.8 and 1000 < space.events < 0.8 * 4000 * 6
    monkeypatch.setattr(xplane.read, "__defaults__", (200_000,))
    seen = look(tmp_path)
    assert seen.segments["compute"] == pytest.approx(5e-3) and seen.steps > 100
    assert any("The capture is large: the first" in note for note in seen.notes)


def test_pieces_of_a_long_line_are_the_line(usual, tmp_path, monkeypatch):
    path = usual(300).write(tmp_path)
    whole = look(path).segments
    monkeypatch.setattr(xplane, "CHUNK", 1000)
    monkeypatch.setattr(xplane, "_AT_ONCE", 7)
    assert look(path).segments == whole


def trace(usual, path):
    """The same capture as the trace viewer keeps it."""
    events, space = [], usual().space()
    for number, plane in enumerate(space.planes):
        events.append({"ph": "M", "name": "process_name", "pid": number, "args": {"name": f"{plane.name} (pid 7)"}})
        for line in plane.lines:
            place = {"pid": number, "tid": line.id}
            events.append({"ph": "M", "name": "thread_name", **place, "args": {"name": line.name}})
            for event in line.events:
                stats = {plane.stat_metadata[stat.metadata_id].name: stat.int64_value for stat in event.stats}
                times = {"ts": event.offset_ps / 1e6, "dur": event.duration_ps / 1e6}
                name = plane.event_metadata[event.metadata_id].name
                events.append({"ph": "X", "name": name, **place, **times, "args": stats})
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))


def test_a_trace_alone_gives_the_same_answer(usual, tmp_path):
    folder = tmp_path / "plugins" / "profile" / "run1"
    folder.mkdir(parents=True)
    trace(usual, folder / "host.trace.json.gz")
    seen = look(tmp_path)
    assert seen.segments == pytest.approx({"input": 2e-3, "gaps": 2e-3, "communication": 1e-3, "compute": 5e-3})
    assert any("only a trace" in note for note in seen.notes)


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"[1]", mtime=0), gzip.compress(b'{"traceEvents": [{"ph": "X"}]}', mtime=0)],
    ids=["empty", "no gzip", "a list", "no time"],
)
def test_a_trace_that_is_none_gets_a_sentence(tmp_path, content):
    path = tmp_path / "host.trace.json.gz"
    path.write_bytes(content)
    with pytest.raises(BadCapture, match=r"host\.trace\.json\.gz"):
        look(path)


def test_the_tool_pages_of_an_old_tensorflow_are_read(tmp_path):
    from xprof.protobuf import input_pipeline_pb2, overview_page_pb2

    page = overview_page_pb2.OverviewPage()
    for number in range(8):
        step = input_pipeline_pb2.PerGenericStepDetails(
            step_number=number, step_time_ms=100, host_wait_input_ms=70, device_compute_ms=20, device_collectives_ms=4
        )
        packed = page.input_analysis.step_details.add()
        packed.type_url = "type.googleapis.com/tensorflow.profiler.PerGenericStepDetails"
        packed.value = step.SerializeToString()
    page.recommendation.statement = "HIGHLY input-bound"
    (tmp_path / "host.overview_page.pb").write_bytes(page.SerializeToString())
    seen = look(tmp_path)
    assert (seen.verdict, seen.confidence, seen.steps) == ("input-bound", "medium", 8)
    assert seen.segments == pytest.approx({"input": 0.07, "gaps": 0.006, "communication": 0.004, "compute": 0.02})
    assert seen.official == "HIGHLY input-bound"


def test_pages_without_a_step_get_a_sentence(tmp_path):
    (tmp_path / "host.tensorflow_stats.pb").write_bytes(b"")
    with pytest.raises(BadCapture, match="neither a capture"):
        look(tmp_path)


def test_nothing_to_be_found(tmp_path):
    with pytest.raises(BadCapture, match="There is no folder"):
        look(tmp_path / "nowhere")
    with pytest.raises(BadCapture, match="There is no profile below"):
        look(tmp_path)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(BadCapture, match=r"is no profile: those end in \.xplane\.pb"):
        look(tmp_path / "notes.txt")


def test_the_command_answers_on_one_screen_and_as_json(usual, tmp_path, capsys):
    usual().write(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert command.main([str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("COMPUTE-BOUND") and len(said.splitlines()) <= 45
    assert max(map(len, said.splitlines())) <= 100
    assert command.main([str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["segments_seconds"]["compute"] == pytest.approx(5e-3)
    assert sorted(tmp_path.rglob("*")) == before, "a reader leaves nothing behind"


def test_the_command_says_what_it_cannot_read(tmp_path, capsys):
    assert command.main([str(tmp_path / "nowhere")]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("There is no folder") and said.out == ""


def test_the_page_of_tensorboard_is_quoted_or_left_out(usual, tmp_path, monkeypatch):
    path = usual().write(tmp_path)
    said, why = official.overview([path])
    assert isinstance(said["statement"], str) and said["step_time"] >= 0 and not why
    monkeypatch.setattr(official, "DEADLINE", 0.01)
    assert official.overview([path])[0] is None
    monkeypatch.setattr(official, "MOST_BYTES", 10)
    assert "too large" in official.overview([path])[1]


def test_in_a_notebook_the_bar_is_the_shares(usual, tmp_path):
    usual().write(tmp_path)
    page = look(tmp_path)._repr_html_()
    assert "width:50.00%" in page and "COMPUTE-BOUND" in page


def test_reading_loads_no_tensorflow(usual, tmp_path):
    """Its import alone takes longer than the answer."""
    import subprocess
    import sys

    usual().write(tmp_path)
    code = (
        "import sys\nfrom labutils import profile\n"
        "print(profile.diagnose(sys.argv[1], with_official=False).verdict, 'tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["compute-bound", "False"], done.stderr
