"""`python3 -m labutils diagnose LOGDIR`: the bottleneck of anybody's job, on one screen or as JSON."""

import argparse
import os
import sys

from labutils.profile.diagnosis import diagnose
from labutils.profile.runs import BadCapture

BAD_INPUT = 2


def main(arguments=None):
    """Print the diagnosis; 0, or 2 with a sentence on stderr where there is nothing to be read."""
    reader = argparse.ArgumentParser(prog="python3 -m labutils diagnose")
    reader.add_argument("logdir")
    reader.add_argument("--json", action="store_true")
    reader.add_argument("--run")
    options = reader.parse_args(arguments)
    try:
        found = diagnose(options.logdir, options.run)
    except BadCapture as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    try:
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no "µ" gets a "?"
        print(found.to_json() if options.json else found, flush=True)
    except BrokenPipeError:  # whoever read it has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
