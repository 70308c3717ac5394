"""Every notebook keeps every rule, and every rule catches what it was made for."""

import ast
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_output

from labutils.course import reading, style

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {style.CHAPTER: "notebooks", style.SOLUTION: "notebooks/solutions", style.LAB: "notebooks/labs"}
NOTEBOOKS = [(kind, path) for kind, folder in FOLDERS.items() for path in sorted((ROOT / folder).glob("[0-9]*.ipynb"))]


def cases():
    for kind, path in NOTEBOOKS:
        for name, rule in style.RULES.items():
            if kind in rule.kinds:
                yield pytest.param(path, rule, id=f"{kind}-{path.stem[:2]}-{name}")


@pytest.mark.parametrize("path, rule", list(cases()))
def test_notebook_keeps(path, rule):
    faults = rule(nbformat.read(path, as_version=4))
    assert not faults, "\n".join(f"{path.relative_to(ROOT)}, {fault}" for fault in faults)


def test_there_are_notebooks_of_every_kind():
    assert {kind for kind, _ in NOTEBOOKS} == set(FOLDERS)


def source(cell, text):
    """Plant a cell's source."""

    def plant(notebook):
        notebook.cells[cell].source = text

    return plant


def output(cell, *outputs):
    def plant(notebook):
        notebook.cells[cell].outputs = list(outputs)

    return plant


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def shown(mime, data):
    return new_output("display_data", data={mime: data})


def tags(cell, *names):
    def plant(notebook):
        notebook.cells[cell].metadata["tags"] = list(names)

    return plant


def attribute(cell, name, value):
    def plant(notebook):
        setattr(notebook.cells[cell], name, value)

    return plant


def add_metadata(notebook):
    notebook.metadata["authors"] = [{"name": "somebody"}]


def editor_metadata(notebook):
    notebook.cells[3].metadata["collapsed"] = True


def output_metadata(notebook):
    notebook.cells[4].outputs[0].metadata = {"image/png": {"width": 640}}


def other_kernel(notebook):
    notebook.metadata.kernelspec = {"display_name": "venv", "language": "python", "name": "venv"}


def drop_last(notebook):
    notebook.cells.pop()


PLANTED = [
    ("title", source(0, "In miniature, 5 minutes"), 0),
    ("title", source(0, "# In miniature"), 0),
    ("objectives", source(1, "## Aims\n- **Measure** it.\n- **Compare** it.\n- **Keep** it."), 1),
    ("objectives", source(1, "## What you will be able to do\n- **Measure** it.\n- **Compare** two."), 1),
    ("objectives", source(1, "## What you will be able to do" + "\n- **Measure** it." * 6), 1),
    ("objectives", source(1, "## What you will be able to do\n- Measures\n- Comparisons\n- Keeping"), 1),
    ("recap", source(8, "## Recap\n- One point for three objectives."), 8),
    ("recap", drop_last, 7),
    ("references", drop_last, 8),
    ("references", source(9, "## References\n\nTo come."), 9),
    ("set_up", source(2, "import keras\nfrom labutils.train import devices\ndevices.configure()"), 2),
    ("set_up", source(2, "import tensorflow as tf, numpy\nfrom labutils.train import devices\ndevices.configure()"), 2),
    ("set_up", source(2, "from labutils.train import devices"), 2),
    ("short_cells", source(5, "x = 1\n" * 16), 5),
    ("short_cells", source(5, f"assert '{'x' * 100}'"), 5),
    ("checked_measurements", source(5, "fast = took.median < 1"), 4),
    ("checked_measurements", source(5, "took.median"), 4),
    ("checked_measurements", source(7, "view.sweep()"), 6),
    ("checked_measurements", tags(7, "nbval-ignore-output"), 6),
    ("stored_outputs", attribute(5, "execution_count", None), 5),
    ("stored_outputs", attribute(5, "execution_count", 40), 5),
    ("stored_outputs", output(4, new_output("error", ename="ValueError", evalue="", traceback=[])), 4),
    ("stored_outputs", output(4, printed("W0000 cuda", "stderr")), 4),
    ("metadata", add_metadata, 0),
    ("metadata", other_kernel, 0),
    ("metadata", editor_metadata, 3),
    ("metadata", output_metadata, 4),
    ("metadata", tags(4, "nbval-ignore-outputs"), 4),
    ("same_everywhere", output(5, printed("saved to /tmp/tmpab12/model.keras")), 5),
    ("same_everywhere", output(5, shown("text/html", "<pre>C:\\Users</pre>")), 5),
    ("same_everywhere", output(5, printed("20/20 - 0s - 11.9 ms/step - loss: 2.1")), 5),
    ("same_everywhere", output(5, printed("20/20 - 3s 150us/sample")), 5),
    ("same_everywhere", output(5, printed("1/20 ━━━━━━━━━━━━━━━━━━━━ 2s")), 5),
    ("same_everywhere", output(5, shown("text/plain", "<Model object at 0x7f3a12bc9d90>")), 5),
    ("outputs_show_without_a_kernel", output(4, shown("application/vnd.jupyter.widget-view+json", {})), 4),
    ("outputs_show_without_a_kernel", output(4, shown("image/png", "A" * 300_000)), 4),
    ("controls", source(6, "from ipywidgets import IntSlider\nIntSlider(continuous_update=True)"), 6),
    ("controls", source(6, "interact(draw, n=(1, 8))"), 6),
    ("controls", source(6, "view = explore(lambda n: model.fit(x, y, epochs=n), n=pick('n', [1, 2]))"), 6),
    (
        "controls",
        source(6, "def draw(n):\n    return bars(took(n))\n\n\ndef took(n):\n    return measure(n)\n\n\nexplore(draw)"),
        6,
    ),
    ("swept", source(7, "assert view"), 6),
    ("swept", source(6, "explore(draw, n=pick('n', [1, 2]))"), 6),
    ("no_threads", source(5, "import threading\nassert threading.Thread(target=work).start() is None"), 5),
    ("no_threads", source(5, "def say(n):\n    print(n)\n\n\nlist(ThreadPoolExecutor().map(say, range(3)))"), 5),
]


@pytest.mark.parametrize("name, plant, cell", PLANTED)
def test_rule_catches_a_planted_fault(chapter, name, plant, cell):
    plant(chapter)
    faults = style.RULES[name](chapter)
    assert faults, f"{name} overlooked the fault"
    assert cell in (None, *(fault.cell for fault in faults))
    assert all(str(fault).startswith("cell ") and fault.sentence.rstrip().endswith((".", "...")) for fault in faults)


def test_a_lab_with_outputs_is_caught(chapter):
    faults = style.RULES["no_outputs"](chapter)
    assert {fault.cell for fault in faults} == {2, 3, 4, 5, 6, 7}


def test_every_rule_has_a_planted_fault():
    assert {name for name, _, _ in PLANTED} | {"no_outputs"} == set(style.RULES)


def test_a_sound_chapter_breaks_no_rule(chapter):
    broken = {name: rule(chapter) for name, rule in style.RULES.items() if style.CHAPTER in rule.kinds}
    assert not any(broken.values()), broken


@pytest.mark.parametrize(
    "text",
    [
        "assert took.median > 0",
        "if machine.cores < 4:\n    assert took.median > 0",
        "print('slower:', took.median > 0)",
        "took.median > 0",
        "ch00.waves(lambda replicas, cores: replicas)",
        "display(ch00.waves(...))\ndisplay(ch00.waves(3))",
        "ch00.waves(answer).require()",
    ],
)
def test_ways_to_state_what_must_hold(chapter, text):
    chapter.cells[5].source = text
    assert not style.RULES["checked_measurements"](chapter)


def test_a_prediction_may_wait_for_its_check(chapter):
    asking, between = chapter.cells[3], chapter.cells[4]
    between.source, between.metadata = "x = 1", {}  # states nothing, and nothing was measured yet
    assert not style.RULES["checked_measurements"](chapter)
    asking.source = "guess = predict('How long?', guess=measure(work).median)"
    assert style.RULES["checked_measurements"](chapter)[0].cell == 3


def test_the_answer_may_stand_before_its_check(chapter):
    answer, check = chapter.cells[5], chapter.cells[7]
    answer.source, answer.metadata["tags"] = "took = 3", ["solution"]
    check.source = "ch00.trusted(took).require()"
    check.metadata["tags"] = ["nbval-ignore-output"]  # strict all the same: require() raises
    assert not style.RULES["checked_measurements"](chapter)


THREADS_THAT_PRINT = {
    "lambda": "threading.Thread(target=lambda: print('late')).start()",
    "function": "def work():\n    print('late')\nThread(target=work).start()",
    "positional": "def work():\n    print('late')\nThread(None, work).start()",
    "deeper": "def say():\n    print('late')\ndef work():\n    say()\nThread(target=work).start()",
    "method": "class A:\n    def work(self):\n        print(1)\n    def go(self):\n        Thread(target=self.work)",
    "subclass": "class A(threading.Thread):\n    def run(self):\n        print('late')",
    "timer": "threading.Timer(0.3, lambda: print('late')).start()",
    "partial": "def say(n):\n    print(n)\nThread(target=partial(say, 3)).start()",
    "pool": "with ThreadPoolExecutor() as pool:\n    pool.submit(lambda: print('late'))",
    "pool's map": "def say(n):\n    display(n)\npool = futures.ThreadPoolExecutor(2)\npool.map(say, [1, 2])",
    "stdout": "def work():\n    sys.stdout.write('late')\nThread(target=work).start()",
}


@pytest.mark.parametrize("code", THREADS_THAT_PRINT.values(), ids=THREADS_THAT_PRINT)
def test_a_thread_that_prints_is_caught(code):
    assert list(reading.stray_output(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "print('here')\nThread(target=lambda: lines.append(1)).start()",
        "def say():\n    print('here')\ndef work():\n    lines.put(1)\nThread(target=work).start()\nsay()",
        "batches = dataset.map(lambda x: print(x))",
        "with ThreadPoolExecutor() as pool:\n    print(list(pool.map(abs, [1, 2])))",
    ],
)
def test_a_thread_that_does_not_print_may_stay(code):
    assert not list(reading.stray_output(ast.parse(code)))


@pytest.mark.parametrize("code", ["w.IntSlider(3)", "SelectionSlider(continuous_update=True)", "w.FloatSlider(a=1)"])
def test_a_slider_that_redraws_on_drag_is_caught(code):
    assert list(reading.loose_sliders(ast.parse(code)))
    mended = code.replace("continuous_update=True", "").replace(")", ", continuous_update=False)").replace("(, ", "(")
    assert not list(reading.loose_sliders(ast.parse(mended)))


def test_labutils_prints_from_no_thread_and_redraws_on_no_drag():
    found = []
    for path in sorted((ROOT / "labutils").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        where = path.relative_to(ROOT).as_posix()
        found += [f"{where}:{line}: {sentence}" for line, sentence in reading.stray_output(tree)]
        found += [f"{where}:{line}: a slider without continuous_update=False" for line in reading.loose_sliders(tree)]
    assert not found
