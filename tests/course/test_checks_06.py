"""Lab 06: the numbers of a format, a loop that scales, a float16 training with faults left in, and decisions."""

import nbformat
import pytest

from labutils.course.refresh import ROOT

pytestmark = pytest.mark.usefixtures("machine")
SOLUTION = "06_mixed_precision_lab.ipynb"


@pytest.fixture(scope="module")
def ch06(machine):
    from labutils.course.checks import ch06

    return ch06


@pytest.fixture(scope="module")
def lab(machine):
    """What the cells of the solution define."""
    notebook = nbformat.read(ROOT / "notebooks" / "solutions" / SOLUTION, as_version=4)
    names = {}
    for cell in notebook.cells:
        if cell["id"] in ("setup", "scaled", "given", "mended"):
            exec("\n".join(line for line in cell.source.splitlines() if "configure" not in line), names)
    return names


def says(verdict, state, words):
    assert verdict.state == state and words in verdict.sentence, verdict


def test_the_small_format(ch06):
    says(ch06.small_format(57344, 0.25, 0.3125), "right", "float8")
    says(ch06.small_format(..., ..., ...), "not yet", "Replace")


@pytest.mark.parametrize(
    "answers, words",
    [
        ((114688, 0.25, 0.3125), "largest number is not 114688"),
        ((57344, 0.5, 0.3125), "step at 1 is not 0.5"),
        ((57344, 0.25, 0.3), "number for 0.3 is not 0.3: between 0.25 and 0.5"),
        ((57344, "0.25", 0.3125), "a number, not '0.25'"),
    ],
)
def test_wrong_numbers_of_the_small_format(ch06, answers, words):
    says(ch06.small_format(*answers), "wrong", words)


def step(scale=True, gives="loss", apply=True, twice=False):
    """A training step with a fault of choice."""
    import keras
    import tensorflow as tf

    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def answer(model, optimizer, x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
            scaled = optimizer.scale_loss(loss) if scale else loss
        gradients = tape.gradient(scaled, model.trainable_variables)
        if twice:
            gradients = [gradient / optimizer.dynamic_scale for gradient in gradients]
        if apply:
            optimizer.apply(gradients)
        return {"loss": loss, "scaled": scaled, "nothing": None, "words": "fine"}[gives]

    return answer


def test_a_loop_that_scales(ch06, lab):
    says(ch06.scales(lab["scaled_step"]), "right", "does not depend on the scale")
    says(ch06.scales(step()), "right", "put on once and taken off once")


@pytest.mark.parametrize(
    "fault, words",
    [
        ({"scale": False}, "nobody has multiplied the loss"),
        ({"gives": "scaled"}, "That is the scaled loss"),
        ({"gives": "words"}, "Return the loss, a number; yours returned 'fine'"),
        ({"apply": False}, "No weight has moved"),
        ({"twice": True}, "divides the gradients a second time"),
    ],
)
def test_a_loop_with_a_fault(ch06, fault, words):
    says(ch06.scales(step(**fault)), "wrong", words)


def test_a_mended_training(ch06, lab):
    says(ch06.trains_in_float16(lab["mended"]), "right", "all losses finite")


def training(energy="float32", classes="float32", scaled=True, dense="mixed_float16", epsilon=1e-8, sign=-1):
    """The training of exercise 3 with some faults left in."""
    import keras
    import tensorflow as tf

    from labutils.course.checks import ch06

    layers = [keras.layers.Flatten(dtype=dense), keras.layers.Dense(64, "relu", dtype=dense)]
    layers += [ch06.Energy(dtype=energy, name="energy")]
    layers += [keras.layers.Dense(10, activation="softmax", dtype=classes, name="classes")]
    model = keras.Sequential([keras.Input((8, 8, 1)), *layers])

    def loss(x, y):
        probability = tf.gather(model(x, training=True), y, batch_dims=1)
        return sign * tf.reduce_mean(tf.math.log(probability + epsilon))

    optimizer = keras.optimizers.SGD(0.1)
    return model, keras.optimizers.LossScaleOptimizer(optimizer) if scaled else optimizer, loss


@pytest.mark.parametrize(
    "faults, words",
    [
        ({"energy": "mixed_float16"}, "energy computes in float16 and gives nan"),
        ({"classes": "mixed_float16"}, "classes computes its softmax in float16"),
        ({"scaled": False}, "the loss is not scaled"),
        ({"dense": "float32"}, "should still compute in float16"),
        ({"sign": 1}, "of the test digits right"),
    ],
)
def test_a_fault_left_in_is_named(ch06, faults, words):
    says(ch06.trains_in_float16(lambda: training(**faults)), "wrong", words)


def test_what_is_no_training_is_said(ch06, lab):
    says(ch06.trains_in_float16(lambda: None), "not yet", "Fill in")
    says(ch06.trains_in_float16(lambda: 7), "wrong", "Return three things")
    says(ch06.trains_in_float16(lab["given"]), "wrong", "energy computes in float16")


def test_another_right_answer(ch06):
    says(ch06.trains_in_float16(lambda: training()), "right", "all losses finite")


def test_decisions(ch06):
    says(ch06.decisions("float32", "mixed_bfloat16", "mixed_float16"), "right", "both, or it is rolled back")
    says(ch06.decisions("float16", "mixed_bfloat16", "mixed_float16"), "wrong", "'float16' is no policy")
    says(ch06.decisions("mixed_float16", "mixed_bfloat16", "mixed_float16"), "wrong", "neither format is faster")
    says(ch06.decisions("float32", "mixed_float16", "mixed_float16"), "wrong", "float16 is slower")
    says(ch06.decisions("float32", "mixed_bfloat16", "mixed_bfloat16"), "wrong", "loses more accuracy")
    assert len(ch06.machines().rows) == 7
