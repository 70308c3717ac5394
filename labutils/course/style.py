"""How a notebook of the course must look: each rule reads one notebook and says in which cell it is broken."""

import json
import re
from dataclasses import dataclass

from labutils.course.reading import (
    asks_only,
    called_names,
    functions_in,
    imports,
    is_ignored,
    reachable_calls,
    states_something,
    stray_output,
    tree_of,
)
from labutils.course.refresh import KERNELSPEC, WIDGET

CHAPTER, SOLUTION, LAB = "chapter", "solution", "lab"
CODE_LINES, CODE_WIDTH = 15, 100
OUTPUT_BYTES = 300_000  # stored outputs of one cell: above this a notebook opens and compares slowly
TAGS = {"nbval-ignore-output", "solution", "solution-only"}
OWN_CONTROLS = {"interact", "interactive", "interactive_output", "interact_manual"}
WORK = {"fit", "evaluate", "train_on_batch", "apply_gradients", "measure", "compare", "run", "run_by_phase", "mirrored"}
PATH = re.compile(r"(?<![\w./:])/(?:tmp|home|Users|root|var|opt|usr|mnt|private|work)/\w|\b[A-Z]:\\\w")
CHANGING = {
    re.compile(r"\d\s*(?:s|ms|µs|us)/(?:step|epoch|batch|sample)\b"): "a time per step",
    re.compile(r"━|\bETA\b"): "a progress bar",
    re.compile(r"\b0x[0-9a-f]{6,}"): "a memory address",
}
RULES = {}


@dataclass(frozen=True)
class Fault:
    """A broken rule: where, and what to change. `cell` counts from 0."""

    cell: int
    sentence: str

    def __str__(self):
        return f"cell {self.cell}: {self.sentence}"


def rule(*kinds):
    """Register a function of a notebook that yields (cell, sentence) for every place where it is broken."""

    def register(check):
        def faults(notebook):
            return [Fault(cell, sentence) for cell, sentence in check(notebook)]

        faults.__doc__, faults.kinds = check.__doc__, kinds
        RULES[check.__name__] = faults
        return faults

    return register


def code_cells(notebook):
    """(index, cell) of every code cell."""
    return [(index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]


@rule(CHAPTER, SOLUTION, LAB)
def title(notebook):
    """The first cell is a title that says how many minutes the notebook takes."""
    first = notebook.cells[0]
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        yield 0, "The first cell is the title, '# ...'."
    elif not re.search(r"\b\d+ minutes\b", first.source):
        yield 0, "The first cell says how many minutes the notebook takes."


@rule(CHAPTER)
def objectives(notebook):
    """The second cell lists three to five things that the learner will be able to do, each led by a bold verb."""
    cell = notebook.cells[1]
    if not cell.source.startswith("## What you will be able to do"):
        yield 1, "The second cell is '## What you will be able to do'."
    elif not 3 <= len(_points(cell)) <= 5:
        yield 1, f"There are {len(_points(cell))} objectives; a chapter has 3 to 5."
    elif not all(point.startswith("**") for point in _points(cell)):
        yield 1, "Every objective begins with its verb, in bold."


@rule(CHAPTER)
def recap(notebook):
    """The last cell but one is the recap: one point for each objective."""
    last, cell = len(notebook.cells) - 2, notebook.cells[-2]
    if not cell.source.startswith("## Recap"):
        yield last, "The last cell but one is '## Recap'."
    elif len(_points(cell)) != len(_points(notebook.cells[1])):
        counts = f"{len(_points(cell))} points for {len(_points(notebook.cells[1]))} objectives"
        yield last, f"The recap has {counts}; it has one for each."


@rule(CHAPTER)
def references(notebook):
    """The last cell lists the references."""
    cell = notebook.cells[-1]
    if not cell.source.startswith("## References") or not _points(cell):
        yield len(notebook.cells) - 1, "The last cell is '## References', with a point for each."


@rule(CHAPTER, SOLUTION, LAB)
def set_up(notebook):
    """The first code cell imports `labutils.train` before anything else, and configures the devices."""
    index, cell = code_cells(notebook)[0]
    names = imports(tree_of(cell))
    if not names or names[0] != "labutils.train":
        yield index, "The set-up cell imports from labutils.train first: it keeps TensorFlow's start-up lines out."
    if "configure" not in called_names(tree_of(cell)):
        yield index, "The set-up cell calls devices.configure()."


@rule(CHAPTER, SOLUTION, LAB)
def short_cells(notebook):
    """A code cell shows one idea: at most 15 lines, none wider than a page of the browser."""
    for index, cell in code_cells(notebook):
        lines = [line for line in cell.source.splitlines() if line.strip()]
        if len(lines) > CODE_LINES:
            yield index, f"{len(lines)} lines of code; a cell has at most {CODE_LINES}."
        for line in lines:
            if len(line) > CODE_WIDTH:
                yield index, f"A line of {len(line)} characters, at most {CODE_WIDTH}: {line.strip()[:40]}..."


@rule(CHAPTER, SOLUTION)
def checked_measurements(notebook):
    """What is measured or drawn is ignored by the comparison, so the next compared cell states what must hold.

    A cell that only asks for a prediction or reveals it measures nothing: it may wait for a later check. In a
    solution the learner's part stands between an exercise and its check.
    """
    owed, questions = [], []
    for index, cell in code_cells(notebook):
        strict = "require" in called_names(tree_of(cell))  # raises, so it holds although its output is ignored
        if is_ignored(cell) and not strict:
            (questions if asks_only(cell) else owed).append(index)
        elif strict or states_something(cell):
            owed, questions = [], []
        elif owed and "solution" not in cell.metadata.get("tags", []):
            yield owed[-1], f"Its output is ignored, and the next compared cell ({index}) states nothing."
            owed = []
    for index in owed + questions:
        yield index, "Its output is ignored, and no compared cell below it states what must hold."


@rule(CHAPTER, SOLUTION)
def stored_outputs(notebook):
    """Outputs are stored of one run from top to bottom, without errors and without the chatter on stderr."""
    for count, (index, cell) in enumerate(code_cells(notebook), start=1):
        if cell.execution_count != count:
            yield index, f"Its count is {cell.execution_count} and should be {count}: run `labutils refresh`."
        kinds = {output.output_type for output in cell.outputs} | {output.get("name") for output in cell.outputs}
        if "error" in kinds:
            yield index, "An error is stored as its output. Catch the one you want to show, and print it."
        if "stderr" in kinds:
            yield index, "Output on stderr is stored; it differs from machine to machine."


@rule(LAB)
def no_outputs(notebook):
    """A lab is handed out as if never run."""
    for index, cell in code_cells(notebook):
        if cell.outputs or cell.execution_count is not None:
            yield index, "A lab has no outputs: make it from its solution with `labutils refresh`."


@rule(CHAPTER, SOLUTION, LAB)
def metadata(notebook):
    """Only the kernel's name, the language and known tags are stored: nothing of the author's editor or machine."""
    if set(notebook.metadata) - {"kernelspec", "language_info"} or notebook.metadata.get("kernelspec") != KERNELSPEC:
        yield 0, "The notebook's metadata are kernelspec and language_info, as `labutils refresh` writes them."
    for index, cell in enumerate(notebook.cells):
        unknown = sorted(set(cell.metadata) - {"tags"}) + sorted(set(cell.metadata.get("tags", [])) - TAGS)
        if unknown:
            yield index, f"Unknown metadata or tags: {', '.join(unknown)}."
        if any(output.get("metadata") for output in cell.get("outputs", [])):
            yield index, "An output carries metadata."


@rule(CHAPTER, SOLUTION)
def same_everywhere(notebook):
    """A compared output holds nothing that differs between two machines or two runs."""
    for index, cell in code_cells(notebook):
        text = "" if is_ignored(cell) else "\n".join(_texts(cell))
        if PATH.search(text):
            yield index, f"A compared output holds an absolute path: {_around(text, PATH)!r}."
        for pattern, what in CHANGING.items():
            if pattern.search(text):
                yield index, f"A compared output holds {what}: {_around(text, pattern)!r}."


@rule(CHAPTER, SOLUTION)
def outputs_show_without_a_kernel(notebook):
    """No stored view of a widget, which would be an error message to a reader; and nothing huge."""
    for index, cell in code_cells(notebook):
        if any(WIDGET in output.get("data", {}) for output in cell.outputs):
            yield index, "The view of a widget is stored: run `labutils refresh`."
        size = len(json.dumps(cell.outputs))
        if size >= OUTPUT_BYTES:
            yield index, f"Its outputs take {size / 1e3:.0f} kB, more than {OUTPUT_BYTES / 1e3:.0f}. Show less."


@rule(CHAPTER, SOLUTION, LAB)
def controls(notebook):
    """Sliders are made by labutils.show.controls, draw without working, and are swept where a chapter has them."""
    code = [(index, tree_of(cell)) for index, cell in code_cells(notebook)]
    known = {name: node for _, tree in code for name, node in functions_in(tree).items()}
    for index, tree in code:
        if OWN_CONTROLS & called_names(tree) or any(name.split(".")[0] == "ipywidgets" for name in imports(tree)):
            yield index, "Make the control with labutils.show.controls: a slider of its own redraws while it moves."
        worked = sorted(WORK & reachable_calls(tree, known, through="explore"))
        if worked:
            yield index, f"A slider would start work: its picture calls {', '.join(worked)}. Measure before, draw here."


@rule(CHAPTER)
def swept(notebook):
    """Every picture with sliders is drawn over their whole range, so that no position shows an error."""
    sources = [cell.source for _, cell in code_cells(notebook)]
    for index, cell in code_cells(notebook):
        for made in re.findall(r"^(\w+ = )?explore\(", cell.source, flags=re.MULTILINE):
            name = made.removesuffix(" = ")
            if not name or not any(f"{name}.sweep()" in source for source in sources):
                yield index, "Name what explore() makes, and call its sweep() in the next compared cell."


@rule(CHAPTER, SOLUTION, LAB)
def no_threads(notebook):
    """What a thread prints lands under whichever cell runs then."""
    code = [(index, tree_of(cell)) for index, cell in code_cells(notebook)]
    known = {name: node for _, tree in code for name, node in functions_in(tree).items()}
    for index, tree in code:
        if "threading" in imports(tree) or {"Thread", "Timer"} & called_names(tree):
            yield index, "A notebook starts no threads. Let a function of labutils do it, and read its result here."
        for _, sentence in stray_output(tree, known):
            yield index, sentence


def _points(cell):
    return re.findall(r"^- (.+)", cell.source, flags=re.MULTILINE)


def _texts(cell):
    for output in cell.outputs:
        yield output.get("text", "")
        yield from (str(data) for mime, data in output.get("data", {}).items() if mime.startswith("text/"))


def _around(text, pattern):
    found = pattern.search(text)
    return text[max(0, found.start() - 20) : found.end() + 20]
