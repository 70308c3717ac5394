"""`python3 -m labutils diagnose LOGDIR`: the bottleneck of anybody's job, on one screen or as JSON."""

import argparse
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
    print(found.to_json() if options.json else found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
