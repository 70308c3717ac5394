"""How fast short runs are trained side by side, none of them taken from the cache."""

import time

NAME = "sweep"
BATCHES = (8, 16, 32, 64, 128, 256, 512, 1024)
RATES = [2.0**power for power in range(-6, 3)]


def run():
    from labutils.train import sweep  # TensorFlow, which the other benchmarks do not need

    began = time.perf_counter()
    swept = sweep.sweep(BATCHES, RATES, target=0.2, cache=False)
    seconds = time.perf_counter() - began
    setting = sweep.Setting(256, 0.5)
    began = time.perf_counter()
    sweep.train([setting], target=0.2, cache=False)
    one = time.perf_counter() - began
    return [
        (f"{len(swept.results)} runs of the digits", "200 runs < 60 s", f"{seconds:.0f} s"),
        ("one run, as from the sliders", "< 3 s", f"{one:.2f} s"),
    ]
