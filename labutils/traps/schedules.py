"""Traps in the learning rate: how long its schedule lasts, and how it grows with the devices."""

from labutils.traps.registry import Gives, Trap
from labutils.traps.setups import CONFIRMED, FOUR_DEVICES, IMPORTS

_DECAY = """
total, warmup = 100, 30
schedule = keras.optimizers.schedules.CosineDecay(
    initial_learning_rate=0.0,
    decay_steps={steps},
    warmup_target=0.4, warmup_steps=warmup)
rates = [float(schedule(step)) for step in range(total)]
report(highest=max(rates), last=rates[-1])
"""

_DEVICES = """
tuned_rate, tuned_replicas = 0.25, 2  # 16 rows on each of 2 replicas


def loss_on(replicas, rate):
    with mirrored(replicas).scope():
        model = linear()
        model.compile(keras.optimizers.SGD(rate), "mse", jit_compile=False)
    x, y = rows(1024)
    model.fit(x, y, batch_size=16 * replicas, shuffle=False, verbose=0)
    return float(np.mean((model(x) - y) ** 2))


rate = {rate}
report(rate=rate, loss_on_2=loss_on(2, tuned_rate), loss_on_4=loss_on(4, rate))
"""

TRAPS = (
    Trap(
        name="decay-after-warmup",
        title="decay_steps counts from the end of warm-up, so the decay is cut off",
        symptom="You add warm-up to a `CosineDecay`. The rate should be 0 at the last step; it is still far above it, "
        "and the loss has not settled when the run ends.",
        repro=_DECAY.format(steps="total"),
        outcome=Gives(
            "At the last of 100 steps the rate is more than a tenth of the highest.",
            ("abs(highest - 0.4) < 1e-6", "last > 0.1 * highest"),
        ),
        remedy=_DECAY.format(steps="total - warmup"),
        mended=Gives(
            "At the last step the rate is less than a hundredth of the highest.",
            ("abs(highest - 0.4) < 1e-6", "last < 0.01 * highest"),
        ),
        why="The schedule lasts `warmup_steps + decay_steps`. Whoever gives all steps of the run as `decay_steps` ends "
        "it `warmup_steps` too early: after 30 of 100 steps of warm-up, 70 % of the decay is done and a fifth of "
        "the rate is left. Give the steps that remain.",
        versions=CONFIRMED,
        references=("https://keras.io/api/optimizers/learning_rate_schedules/cosine_decay/",),
        chapters=("03",),
        setup=IMPORTS,
    ),
    Trap(
        name="rate-scaled-twice",
        title="The rate is multiplied by all devices, but it already belonged to several",
        symptom="The job trains on 2 devices. On 4 you scale the rate by the linear rule, and the loss explodes.",
        repro=_DEVICES.format(rate="tuned_rate * 4"),
        outcome=Gives(
            "The rate is 1.0 instead of 0.5, and the loss on 4 replicas is not a small number any more.",
            ("rate == 1.0", "loss_on_2 < 0.01", "not loss_on_4 < 1"),
        ),
        remedy=_DEVICES.format(rate="tuned_rate * 4 / tuned_replicas"),
        mended=Gives(
            "The rate is 0.5, and the job trains on 4 replicas as on 2.",
            ("rate == 0.5", "loss_on_2 < 0.01", "loss_on_4 < 0.01"),
        ),
        why="The linear rule scales by the new global batch over the one that the rate was tuned with. A recipe's rate "
        "often belongs to 8 devices: 0.1 on 8 makes 0.4 on 32, not 3.2. Write the batch down beside the rate.",
        versions=CONFIRMED,
        references=(
            "https://arxiv.org/abs/1706.02677",
            "https://github.com/open-mmlab/mmdetection/issues/351",
        ),
        chapters=("03",),
        setup=FOUR_DEVICES,
    ),
)
