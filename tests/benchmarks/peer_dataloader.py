"""The same JPEG work through tf.data and through PyTorch's DataLoader, in turns, as ratios. Run by hand:

    .venv/bin/python tests/benchmarks/peer_dataloader.py --torch torchenv/bin/python

PyTorch is no requirement of the course: it has an environment of its own, and each framework a process of its own,
so that neither disturbs the other; while one reads, the other rests. Run it where nothing else runs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

BATCH, SIZE = 64, 128
LONGEST = 300.0  # s that a process may take for one answer
INSTALL = """PyTorch does not run in {python}: {error}
It needs an environment of its own, as it is no requirement of the course:
    python3 -m venv torchenv
    torchenv/bin/pip install torch --index-url https://download.pytorch.org/whl/cpu
    torchenv/bin/pip install numpy pillow
    .venv/bin/python tests/benchmarks/peer_dataloader.py --torch torchenv/bin/python
The plain `pip install torch` works too, and brings CUDA with it on Linux (several GB)."""


# -- in the process of each framework: {name: a function that reads all batches once, one by one}


def tensorflow_readers(files):
    """tf.data, one picture after the other, and with as many at a time as AUTOTUNE finds best."""
    from labutils.train._quiet import import_tensorflow
    from labutils.train.pipelines import as_written, photos

    tf = import_tensorflow()

    def picture(file):
        pixels = photos.decode(tf.io.read_file(file))
        return tf.image.random_flip_left_right(photos.resize(pixels, SIZE))

    source, auto = tf.data.Dataset.from_tensor_slices(files), tf.data.AUTOTUNE
    one = as_written(source.map(picture).batch(BATCH))  # or TensorFlow makes the map parallel by itself
    several = source.map(picture, num_parallel_calls=auto).batch(BATCH).prefetch(auto)
    return {"one": one.as_numpy_iterator, "several": several.as_numpy_iterator}


class Pictures:
    """JPEG files as float32 tensors, for a DataLoader: at module level, so that a spawned worker finds it."""

    def __init__(self, files, resize):
        self.files, self.resize = files, resize

    def __len__(self):
        return len(self.files)

    def __getitem__(self, place):
        import numpy as np
        import torch
        from PIL import Image

        with Image.open(self.files[place]) as image:
            image = image.convert("RGB")
            if self.resize == "pillow":  # averages where it shrinks, on bytes: what torchvision does with such images
                image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR)
            pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous().float()
        if self.resize == "torch":  # the arithmetic of tf.image.resize
            size = (SIZE, SIZE)
            pixels = torch.nn.functional.interpolate(pixels[None], size, mode="bilinear", align_corners=False)[0]
        pixels = pixels / 255.0
        return pixels.flip(2) if torch.rand(()) < 0.5 else pixels


def torch_readers(files):
    """DataLoader in one process, and with a worker for each core that stays from pass to pass; each resize in turn."""
    import torch
    from torch.utils.data import DataLoader

    torch.set_num_threads(1)  # as its workers do: the pictures are too small for more, and more would slow it down
    readers = {}
    for resize in ("pillow", "torch"):
        pictures = Pictures(files, resize)
        one = DataLoader(pictures, BATCH)
        several = DataLoader(pictures, BATCH, num_workers=cores(), persistent_workers=True)
        readers |= {f"one, {resize}": one.__iter__, f"several, {resize}": several.__iter__}
    return readers


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def serve(framework, folder):
    """Answer each name of a reader on standard input with the seconds that it took; first, what each of them read."""
    files = sorted(map(str, Path(folder).glob("*/*.jpg")))
    readers = {"tensorflow": tensorflow_readers, "torch": torch_readers}[framework](files)
    answers, sys.stdout = sys.stdout, sys.stderr  # nobody else may write among the answers
    print(json.dumps({name: _described(read()) for name, read in readers.items()}), file=answers, flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in readers[line.strip()]():
            pass
        print(time.perf_counter() - start, file=answers, flush=True)


def _described(batches):
    """How many pictures there are and how bright they are on average, which no mirroring changes."""
    seen = [(len(batch), float(batch.mean())) for batch in batches]
    pictures = sum(count for count, _ in seen)
    return pictures, sum(count * mean for count, mean in seen) / pictures


# -- in the process that compares them


class Peer:
    """A framework in a process of its own; `.read(name)` waits for one pass, `.described` says what a pass gives."""

    def __init__(self, python, framework, folder):
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the process
        command = [python, __file__, "--serve", framework, "--folder", str(folder)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors}
        self.process = subprocess.Popen(command, text=True, **pipes)
        self.described = self._answer()

    def read(self, name):
        print(name, file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self):
        deadline = threading.Timer(LONGEST, self.process.kill)
        deadline.start()
        line = self.process.stdout.readline()
        deadline.cancel()
        if not line:
            self.errors.seek(0)
            raise SystemExit(f"A process ended or took over {LONGEST:.0f} s:\n{self.errors.read().decode()[-2000:]}")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # which ends its loop
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def table(ours, theirs, seconds):
    """Compare the readers in turns, `seconds` for each pair: a Table of rates and ratios."""
    from labutils.bench import compare, format_ratio
    from labutils.bench.table import Table

    rows = []
    for name, (pictures, _) in theirs.described.items():
        parallel, _, resize = name.partition(", ")
        sides = (lambda name=name: theirs.read(name), lambda parallel=parallel: ours.read(parallel))
        found = compare(*sides, budget=seconds)
        low, high = map(format_ratio, found.interval)
        rates = [_rate(side.throughput(pictures)) for side in (found.variant, found.baseline)]
        ratio = f"{format_ratio(found.ratio)} (99% {low} to {high})"
        rows.append((f"{parallel} at a time", f"resized by {resize}", *rates, ratio, str(found.variant.n)))
        print(".", end="", file=sys.stderr, flush=True)
    head = (
        "pictures",
        "DataLoader",
        "tf.data, pictures/s",
        "DataLoader, pictures/s",
        "tf.data over DataLoader",
        "pairs",
    )
    return Table(head, rows)


def _rate(measured):
    low, high = measured.interval
    return f"{measured.median:,.0f} ({low:,.0f} to {high:,.0f})"


def check_alike(ours, theirs):
    """SystemExit with a sentence where the frameworks do not read the same pictures."""
    seen = {**ours.described, **theirs.described}
    counts, means = zip(*seen.values(), strict=True)
    if len(set(counts)) > 1 or max(means) - min(means) > 0.005:
        raise SystemExit(f"The frameworks do not give the same pictures, as (count, mean brightness): {seen}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default=sys.executable, metavar="PYTHON", help="the Python that has PyTorch")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each of the four comparisons")
    parser.add_argument("--serve", choices=("tensorflow", "torch"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        return serve(asked.serve, asked.folder)
    versions = "import torch, numpy, PIL; print('PyTorch', torch.__version__, '/ Pillow', PIL.__version__)"
    try:
        found = subprocess.run([asked.torch, "-c", versions], capture_output=True, text=True, timeout=LONGEST)
        error = found.stderr.strip().splitlines()[-1:] if found.returncode else []
    except OSError as problem:
        error = [str(problem)]
    if error:
        raise SystemExit(INSTALL.format(python=asked.torch, error=error[0]))

    from labutils.train.pipelines import photos

    folder = photos.write().folder
    with Peer(sys.executable, "tensorflow", folder) as ours, Peer(asked.torch, "torch", folder) as theirs:
        check_alike(ours, theirs)
        shown = table(ours, theirs, asked.seconds)
    print(
        f"\n{photos.write()}\nEach read, decoded, resized to {SIZE}x{SIZE}, mirrored at random, in batches of {BATCH}."
    )
    print(f"{found.stdout.strip()} / {cores()} cores\n\n{shown}")


if __name__ == "__main__":
    main()
