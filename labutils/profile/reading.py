"""The files of a run as Spaces, one for each host, whichever kind they are of."""

from pathlib import Path

from labutils.profile import runs, trace_json, xplane


def read(run):
    """({host: Space}, notes) of a run; (None, notes) where only tool pages are there to be read."""
    files, copies = runs.distinct(run.of("xplane"))
    notes = [f"{copy.capitalize()}, and is left out." for copy in copies]
    if files:
        return _spaces(files, xplane.read, notes)
    traces, copies = runs.distinct(run.of("trace"))
    if traces:
        return _spaces(
            traces, trace_json.read, [*notes, "There is only a trace, without the capture that it was made from."]
        )
    return None, notes


def _spaces(files, read, notes):
    """Each file's Space. One that cannot be read is left out and told; BadCapture where none can."""
    spaces, failed = {}, []
    for file in files:
        try:
            spaces[file.host] = read(Path(file.path))
        except runs.BadCapture as error:
            failed.append(error)
    if not spaces:
        raise failed[0]
    return spaces, [*notes, *(f"Left out: {error}" for error in failed)]
