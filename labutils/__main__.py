"""The course's front door: `python3 -m labutils start`, `test`, `doctor`, `diagnose`, `bench`, `refresh`.

Needs nothing but Python's standard library. It makes sure that `.venv` is complete and hands over to the Python in it.
Written so that a Python too old for the course can still read it and say so.
"""

import argparse
import os
import subprocess
import sys

from labutils import environment, processes
from labutils.processes import Stopped, Trouble

REFRESH = "import sys; from labutils.course.refresh import main; sys.exit(main(sys.argv[1:]))"


def hand_over(root, arguments, **settings):
    """Go on as the environment's own Python, in the course's folder."""
    python = str(environment.python_of(root))
    command = [python, *arguments]
    variables = environment.child_environment(**settings)
    sys.stdout.flush()
    os.chdir(str(root))
    if not processes.WINDOWS:
        os.execve(python, command, variables)
    child = subprocess.Popen(command, env=variables)
    while True:
        try:
            return child.wait()
        except (Stopped, KeyboardInterrupt):  # the console has told the child as well, which ends in its own time
            continue


def start(options):
    root = environment.root_folder()
    environment.prepare(root)
    flags = ["--no-browser"] if options.no_browser else []
    flags += ["--port", str(options.port)] if options.port is not None else []
    return hand_over(root, ["-m", "labutils.server", *flags])


def test(options):
    from labutils import testing

    root = environment.root_folder()
    paths = testing.resolve(options.patterns, root)  # before the environment: a slip of the pen need not wait for it
    environment.prepare(root)
    return hand_over(root, ["-m", "labutils.testing", *paths, "--", *options.extra])


def doctor(options):
    from labutils import doctor

    root = environment.root_folder()
    flags = ["--json"] if options.json else []
    if environment.judge(root).state in (environment.READY, environment.UNFINISHED):
        return hand_over(root, ["-m", "labutils.doctor", *flags])
    return doctor.main(flags)


def diagnose(options):
    root = environment.root_folder()
    if not options.logdir:
        raise Trouble("The name of the log directory is empty. Name the folder that the profile was written to.")
    logdir = os.path.abspath(os.path.expanduser(options.logdir))  # from where it was said, not from the course's folder
    environment.prepare(root)
    flags = (["--json"] if options.json else []) + (["--run", options.run_name] if options.run_name else [])
    return hand_over(root, ["-m", "labutils.profile.command", logdir, *flags])


def bench(options):
    root = environment.root_folder()
    environment.prepare(root)
    return hand_over(root, ["-m", "labutils.benchmarks", *options.patterns])


def refresh(options):
    root = environment.root_folder()
    environment.prepare(root)
    return hand_over(root, ["-c", REFRESH, *options.chapters])


def port_number(text):
    if text.isdigit() and 1 <= int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")


def parser():
    main = argparse.ArgumentParser(prog="python3 -m labutils", description="Four Beats: the course's commands.")
    commands = main.add_subparsers(title="commands", metavar="")

    def command(function, text):
        each = commands.add_parser(function.__name__, help=text, description=text)
        each.set_defaults(run=function)
        return each

    each = command(start, "make .venv, install requirements.txt, open JupyterLab at the first chapter")
    each.add_argument("--no-browser", action="store_true", help="only print the address")
    each.add_argument("--port", type=port_number, help="this port and no other (default: the first free from 8888)")
    each = command(test, "run every test, and every notebook headless, in the same environment")
    each.add_argument("patterns", nargs="*", metavar="PATTERN", help="a path, a folder of tests/, or a chapter: 01")
    each.epilog = "What stands after -- goes to pytest as it is."
    each = command(doctor, "say what this machine is and can show, and what is missing")
    each.add_argument("--json", action="store_true", help="the same for programs")
    each = command(diagnose, "name the bottleneck of a training job from its profile")
    each.add_argument("logdir", metavar="LOGDIR", help="a TensorBoard log directory, a run in it, or a capture")
    each.add_argument("--json", action="store_true", help="the same for programs")
    each.add_argument("--run", dest="run_name", metavar="NAME", help="this run (default: the newest)")
    each = command(bench, "measure the figures that the course promises, as one table")
    each.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of a benchmark's name")
    each = command(refresh, "for authors: run chapters and store their outputs")
    each.add_argument("chapters", nargs="*", metavar="NN", help="chapters, by number (default: all)")
    return main


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    extra = []
    if arguments[:1] == ["test"] and "--" in arguments:
        at = arguments.index("--")
        arguments, extra = arguments[:at], arguments[at + 1 :]
    reader = parser()
    options = reader.parse_args(arguments)
    options.extra = extra
    if not hasattr(options, "run"):
        reader.print_help()
        return 2
    try:
        with processes.stopping_on_signals():
            return options.run(options)
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    except Stopped as stopped:
        print("\nStopped. Nothing half-made is used: run the same command again to go on.", file=sys.stderr)
        return stopped.exit_code


if __name__ == "__main__":
    sys.exit(main())
