"""`python3 -m labutils bench`: the figures that the course promises, measured in one run and shown as one table.

A benchmark is a file `tests/benchmarks/bench_NAME.py` with `NAME` and `run()`, which returns rows of three texts:
what was measured, what is promised, what was found.
"""

import importlib.util
import sys
import time

from labutils import environment, processes
from labutils.processes import Stopped, Trouble

HEAD = ("benchmark", "what", "promised", "measured")


def find(patterns, root):
    """The benchmark files whose name holds one of the patterns; all without one."""
    files = sorted((root / "tests" / "benchmarks").glob("bench_*.py"))
    for pattern in patterns:
        if not any(pattern in file.stem for file in files):
            names = ", ".join(file.stem.removeprefix("bench_") for file in files)
            raise Trouble(f"No benchmark is called {pattern!r}. There are {names}.")
    return [file for file in files if not patterns or any(pattern in file.stem for pattern in patterns)]


def rows_of(file):
    """Run one benchmark; one that fails becomes a row, so that the others are still shown."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return [(module.NAME, *map(str, row)) for row in module.run()], True
    except Exception as problem:
        return [(file.stem, "failed", "", f"{type(problem).__name__}: {problem}")], False


def table(rows):
    """Rows of texts, aligned."""
    widths = [max(len(row[column]) for row in [HEAD, *rows]) for column in range(len(HEAD))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in [HEAD, tuple("-" * width for width in widths), *rows]
    ]
    return "\n".join(lines)


def run(patterns, root):
    rows, good = [], True
    for file in find(patterns, root):
        started = time.monotonic()
        print(f"{file.stem} ...", end=" ", file=sys.stderr, flush=True)
        found, fine = rows_of(file)
        print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
        rows, good = rows + found, good and fine
    print(table(rows))
    return 0 if good else 1


def main(arguments=None):
    try:
        with processes.stopping_on_signals():
            return run(sys.argv[1:] if arguments is None else arguments, environment.root_folder())
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    except Stopped as stopped:
        return stopped.exit_code


if __name__ == "__main__":
    sys.exit(main())
