"""The tool pages of older TensorFlow, where they are all that is left of a capture: TensorBoard's figures by step."""

import math
from statistics import mean

from labutils.profile.runs import BadCapture
from labutils.profile.segments import SEGMENTS

_MS = 1e-3
#: The parts of a step on a page, by the segment they belong to; what is in none of them is a gap.
_PARTS = {
    "input": ("host_wait_input_ms", "host_to_device_ms"),
    "communication": ("device_collectives_ms",),
    "compute": ("device_compute_ms", "device_to_device_ms"),
}
NOTE = (
    "There are only the tool pages of an older TensorFlow, no trace: the parts are those of its input-pipeline "
    "analyser, means over the steps."
)


def read(run):
    """(step times in s, {segment: s of the mean step}, the page's own sentence). BadCapture where no page says so."""
    analysis, statement = _analysis(run)
    steps = [step for step in map(_step, analysis.step_details) if step]
    if not steps:
        raise BadCapture(f"The tool pages of run {run.name} hold no step. Capture anew, with step markers.")
    segments = {name: mean(step[name] for _, step in steps) for name in SEGMENTS}
    return [whole for whole, _ in steps], segments, statement


def _analysis(run):
    """The input analysis, from its own page or from the overview; and the overview's sentence."""
    from google.protobuf.message import DecodeError
    from xprof.protobuf import input_pipeline_pb2, overview_page_pb2

    kinds = {".input_pipeline.pb": input_pipeline_pb2.InputPipelineAnalysisResult}
    kinds[".overview_page.pb"] = overview_page_pb2.OverviewPage
    found, statement = None, ""
    for file in run.of("page"):
        if file.suffix not in kinds:
            continue
        message = kinds[file.suffix]()
        try:
            message.ParseFromString(file.path.read_bytes())
        except (DecodeError, OSError):
            raise BadCapture(f"{file.path.name} is mangled. Copy it again, or capture anew.") from None
        if file.suffix == ".overview_page.pb":
            statement = message.recommendation.statement
            message = message.input_analysis
        if found is None or len(message.step_details) > len(found.step_details):
            found = message
    if found is None:
        raise BadCapture(
            f"Run {run.name} holds neither a capture (.xplane.pb) nor an overview or input-pipeline page. Capture anew."
        )
    return found, statement


def _step(packed):
    """(step time, {segment: s}) of one step; None for a page of another kind, as a TPU's, or a step without time."""
    from google.protobuf.message import DecodeError
    from xprof.protobuf import input_pipeline_pb2

    step = input_pipeline_pb2.PerGenericStepDetails()
    # The type was called tensorflow.profiler... then and is xprof's today: the name is all that differs.
    if packed.type_url.rsplit(".", 1)[-1] != "PerGenericStepDetails":
        return None
    try:
        step.ParseFromString(packed.value)
    except DecodeError:
        return None
    whole = step.step_time_ms * _MS
    parts = {name: sum(getattr(step, part, 0.0) for part in each) * _MS for name, each in _PARTS.items()}
    if not whole > 0 or not all(math.isfinite(part) and part >= 0 for part in parts.values()):
        return None
    parts["gaps"] = max(0.0, whole - sum(parts.values()))
    scale = whole / sum(parts.values())
    return whole, {name: part * scale for name, part in parts.items()}
