"""Lab 05: the numbers of a job, the names of three symptoms, and steps that are mended, or only look so."""

import nbformat
import pytest

from labutils.course.refresh import ROOT

pytestmark = pytest.mark.usefixtures("machine")
SOLUTION = "05_find_the_bottleneck_lab.ipynb"


@pytest.fixture(scope="module")
def ch05(machine):
    from labutils.course.checks import ch05

    return ch05


@pytest.fixture(scope="module")
def lab(machine):
    """What the cells of the solution define: the sick scripts and the mended ones."""
    notebook = nbformat.read(ROOT / "notebooks" / "solutions" / SOLUTION, as_version=4)
    cells = {cell["id"]: cell.source for cell in notebook.cells if cell.cell_type == "code"}
    names = {}
    for name, source in cells.items():
        if name == "setup":
            source = "\n".join(line for line in source.splitlines() if "configure" not in line)
        if name == "setup" or (name.startswith(("sick", "mended")) and not name.endswith("-check")):
            exec(source, names)
    return names


def says(verdict, state, words):
    assert verdict.state == state and words in verdict.sentence, verdict


@pytest.mark.parametrize("answers", [(2.5, 50), (2.51, 50.0)])
def test_the_gains_of_a_job(ch05, answers):
    says(ch05.gains_of_a_job(*answers), "right", "longest segment")


@pytest.mark.parametrize(
    "answers, words",
    [
        ((1.67, 50), "gain is not 1.67: it is the whole step over what is left"),
        ((2.5, 20), "in ms is not 20: it is the same as before but for the compute"),
        (("2.5", 50), "a number, not '2.5'"),
        ((True, 50), "a number, not True"),
    ],
)
def test_wrong_gains_of_a_job(ch05, answers, words):
    says(ch05.gains_of_a_job(*answers), "wrong", words)


def test_nothing_said_yet(ch05, lab):
    says(ch05.gains_of_a_job(..., ...), "not yet", "Replace")
    says(ch05.named(1, lab["sick_1"], ...), "not yet", "Replace")
    says(ch05.mended(1, lab["sick_1"], lambda: None), "not yet", "Fill in")


@pytest.mark.parametrize(
    "number, name, words",
    [
        (1, "python-in-input", "PyFunc"),
        (2, "retracing", "builds the graph of a function anew"),
        (3, "tiny-operators", "operators a step are run one by one"),
    ],
)
def test_the_right_names(ch05, lab, number, name, words):
    says(ch05.named(number, lab[f"sick_{number}"], name), "right", words)


@pytest.mark.parametrize(
    "number, name, words",
    [
        (1, "slow", "'slow' is no symptom's name. The names are busy-device"),
        (1, "input-bound", "Another name says more"),
        (1, "retracing", "“steps that build a graph”: it is 0 of 8"),
        (2, "small-batch", "show nothing of that"),
        (2, "python-in-input", "“Python in the input pipeline”: it is 0 s"),
        (3, "retracing", "“steps that build a graph”: it is 0 of 8"),
        (3, "full-precision", "show nothing of that"),
    ],
)
def test_wrong_names(ch05, lab, number, name, words):
    says(ch05.named(number, lab[f"sick_{number}"], name), "wrong", words)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_mended_step_passes(ch05, lab, number):
    says(ch05.mended(number, lab[f"sick_{number}"], lab[f"mended_{number}"]), "right", "the losses are the same")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_step_as_sick_as_before_is_named(ch05, lab, number):
    sick = lab[f"sick_{number}"]
    title = {1: "Python code in the input", 2: "traced again and again", 3: "very small operators still"}[number]
    says(ch05.mended(number, sick, sick), "wrong", title)


def test_python_that_is_hidden_behind_a_prefetch_is_found(ch05, lab):
    def prefetched():
        def examples():
            for image, label in zip(lab["digits"].x_train, lab["digits"].y_train, strict=True):
                yield (image - image.mean()) / image.std(), label

        tf = lab["tf"]
        spec = (tf.TensorSpec((8, 8, 1), tf.float32), tf.TensorSpec((), tf.int32))
        dataset = tf.data.Dataset.from_generator(examples, output_signature=spec)
        return ch05.training(dataset.batch(256).repeat().prefetch(8))

    says(ch05.mended(1, lab["sick_1"], prefetched), "wrong", "Python code in the input pipeline still")


def test_a_step_that_trains_otherwise_is_refused(ch05, lab):
    tf, digits = lab["tf"], lab["digits"]

    def raw():  # quick, and without the standardising
        dataset = tf.data.Dataset.from_tensor_slices((digits.x_train, digits.y_train))
        return ch05.training(dataset.batch(256).cache().repeat())

    says(ch05.mended(1, lab["sick_1"], raw), "wrong", "In step 1 the loss is")
    says(ch05.mended(2, lab["sick_2"], lambda: lambda: float("nan")), "wrong", "In step 1 the loss is nan")
    says(ch05.mended(2, lab["sick_2"], lambda: lambda: "done"), "wrong", "A step returns its loss")
    says(ch05.mended(2, lab["sick_2"], lambda: 7), "wrong", "Return a step function")
    says(ch05.mended(2, lab["sick_2"], lambda: 1 / 0), "wrong", "ZeroDivisionError")


def test_the_mystery_jobs_have_answers(machine):
    from labutils.course import mystery
    from labutils.profile.symptoms import BY_NAME

    assert set(mystery.answers()) == set(mystery.NAMES) and set(mystery.answers().values()) <= set(BY_NAME)
    with pytest.raises(ValueError, match="There is no job 'E'"):
        mystery.step("E")


@pytest.mark.parametrize("name", ["A", "B", "C", "D"])
def test_a_mystery_job_trains_as_its_mended_one(name):
    """What is mended is the speed alone: the first loss, before any update, is the same but for the noise of B."""
    from labutils.course import mystery

    sick, mended = (float(mystery.step(name, mended=mended)()) for mended in (False, True))
    assert mended == pytest.approx(sick, rel=0.05 if name == "B" else 1e-4)
