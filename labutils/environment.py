"""The environment `.venv` beside the package: judging it, making it, mending it.

It is taken for done only where a stamp says so, and the stamp is the last thing written. Standard library only, in
syntax that an old Python can read.
"""

import collections
import contextlib
import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

from labutils import installing, platforms, processes
from labutils.processes import Trouble, Unexplained

STAMP = "labutils-stamp.json"
VENV = ["venv"]
MARKER = "made-by-labutils"  # only what carries it may be emptied

# What a learner meets first, so that a broken package shows during the installation and not in a chapter.
SMOKE = [
    ("tensorflow", "import tensorflow as tf; assert int(tf.constant(1) + 1) == 2"),
    ("jupyterlab", "import jupyterlab.labapp"),
    ("ipykernel", "import ipykernel.kernelapp"),
    ("ipywidgets", "import ipywidgets"),
    ("matplotlib", "import matplotlib.pyplot"),
    ("nbval", "import nbval.plugin"),
    ("psutil", "import psutil"),
]

Verdict = collections.namedtuple("Verdict", "state reason")
READY, ABSENT, UNFINISHED, BROKEN, FOREIGN = "ready", "absent", "unfinished", "broken", "foreign"


def root_folder():
    """The course's folder: where the package stands, wherever the command was called from."""
    root = pathlib.Path(__file__).resolve().parent.parent
    if not (root / "requirements.txt").is_file():
        raise Trouble(
            f"The course's folder was not found: there is no requirements.txt in {root}. Run the command in the "
            "folder that you cloned."
        )
    return root


def folder_of(root):
    return pathlib.Path(root) / ".venv"


def python_of(root, windows=processes.WINDOWS):
    folder = folder_of(root)
    return folder / "Scripts" / "python.exe" if windows else folder / "bin" / "python"


def requirements(root):
    """{name: pinned version or None} from requirements.txt, without what is for other machines."""
    found = {}
    for line in (pathlib.Path(root) / "requirements.txt").read_text(encoding="utf-8").splitlines():
        match = re.match(r"([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?:==\s*([^\s;#]+))?\s*(?:#.*)?$", line.strip())
        if match:
            found[match.group(1).lower()] = match.group(2)
    return found


def installed(root):
    """{name: version} of what stands in `.venv`, read from folder names: no interpreter needed, a few ms."""
    folder, found = folder_of(root), {}
    for pattern in ("lib/python3*/site-packages", "Lib/site-packages"):
        for entry in folder.glob(pattern + "/*.dist-info"):
            name, _, version = entry.name[: -len(".dist-info")].rpartition("-")
            found[plain(name)] = version
    return found


def plain(name):
    """A package's name as all its spellings agree on it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def differences(root):
    """[(name, wanted, found or None)] where `.venv` is not what requirements.txt asks for."""
    present, wrong = installed(root), []
    for name, wanted in requirements(root).items():
        found = present.get(plain(name))
        if found is None or (wanted and found != wanted):
            wrong.append((name, wanted, found))
    return wrong


def fingerprint(root, version):
    digest = hashlib.sha256()
    for name in ("requirements.txt", "pyproject.toml"):
        file = pathlib.Path(root) / name
        digest.update(file.read_bytes() if file.is_file() else b"none")
        digest.update(b"\0")
    return {"files": digest.hexdigest(), "python": version, "folder": str(folder_of(root).resolve())}


def _probe(python):
    """The interpreter's own word on itself: "3.11" and its prefix. (None, why) where it does not run."""
    code = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.prefix)"
    try:
        status, output = processes.ask([str(python), "-I", "-c", code], deadline=30)
    except OSError as problem:
        return None, problem.strerror or str(problem)
    lines = output.strip().splitlines()
    if status != 0 or len(lines) != 2:
        return None, lines[-1] if lines else f"exit code {status}"
    return lines[0], lines[1]


def _read_json(file):
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        return value if isinstance(value, dict) else {}
    except (OSError, ValueError):
        return {}


def judge(root):
    """Whether `.venv` can be used as it is, and if not, why."""
    folder, python = folder_of(root), python_of(root)
    if not os.path.lexists(str(folder)):
        return Verdict(ABSENT, "there is none yet")
    if not folder.is_dir():
        return Verdict(FOREIGN, "it is not a folder")
    ours = (folder / MARKER).is_file()
    if not ours and not (folder / "pyvenv.cfg").is_file():
        if any(folder.iterdir()):
            return Verdict(FOREIGN, "there are files in it but no environment (no pyvenv.cfg)")
        return Verdict(ABSENT, "it is empty")
    if not python.exists():
        return Verdict(BROKEN, f"its Python is gone ({python})")
    version, prefix = _probe(python)
    if version is None:
        return Verdict(BROKEN, f"its Python does not run ({prefix})")
    if not platforms.OLDEST <= tuple(map(int, version.split("."))) <= platforms.NEWEST:
        return Verdict(BROKEN, f"it was made with Python {version}")
    return _judge_content(root, folder, version)


def _judge_content(root, folder, version):
    stamp, wanted = _read_json(folder / STAMP), fingerprint(root, version)
    home = stamp.get("folder") or _read_json(folder / MARKER).get("folder")
    if home and home != wanted["folder"]:
        return Verdict(BROKEN, f"it was made in {home} and an environment cannot be moved")
    if not stamp:
        return Verdict(UNFINISHED, "its installation was not finished")
    if stamp != wanted:
        return Verdict(UNFINISHED, "requirements.txt or pyproject.toml has changed")
    wrong = differences(root)
    if wrong:
        name, asked, found = wrong[0]
        return Verdict(UNFINISHED, "{} is {}, requirements.txt asks for {}".format(name, found or "missing", asked))
    return Verdict(READY, "complete")


def prepare(root, say=print):
    """Return the interpreter of a complete `.venv`, making or mending it first where needed."""
    if judge(root).state != READY:
        try:
            with processes.locked(root, say) as hold:
                verdict = judge(root)  # another start may have finished while we waited
                if verdict.state != READY:
                    _build(root, verdict, say, hold)
        except OSError as problem:
            raise explain_os_error(problem, root) from problem
    return python_of(root)


def explain_os_error(problem, root):
    if problem.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", -1)) or getattr(problem, "winerror", 0) == 112:
        return installing.explain("[Errno 28]", 1, root, folder_of(root) / "install.log")
    where = f" ({problem.filename})" if problem.filename else ""
    return Trouble(
        f"The environment in {root} could not be written: {problem.strerror or problem}{where}. Make sure that the "
        "folder belongs to you and no JupyterLab of this course is running, then run the same command again."
    )


def _build(root, verdict, say, hold):
    folder, started = folder_of(root), time.monotonic()
    if verdict.state == FOREIGN:
        raise Trouble(
            f"{folder} stands where the course makes its environment, and {verdict.reason}: move it away, then run "
            "the same command again."
        )
    if verdict.state == UNFINISHED:
        say(f"Bringing .venv up to date: {verdict.reason}.")
        try:
            _fill(root, say, hold)
        except Unexplained as problem:
            say(f"That did not work: {problem}")
            _make(root, say)
            _fill(root, say, hold)
    else:
        _check_python()
        say(f"Making the course's own environment, .venv: {verdict.reason}.")
        _make(root, say)
        say("Installing what requirements.txt names (about 1 GB to download, only this once).")
        _fill(root, say, hold)
    say(f"The environment is ready ({time.monotonic() - started:.0f} s).")


def _check_python():
    sentence = platforms.unsuitable(platforms.this_python()) or platforms.lacks_venv()
    if sentence:
        raise Trouble(sentence)


def _make(root, say):
    """A new, empty environment in `.venv`."""
    _check_python()
    folder = folder_of(root)
    _clear(folder, say)
    folder.mkdir(exist_ok=True)
    marker = {"folder": str(folder.resolve())}
    (folder / MARKER).write_text(json.dumps(marker), encoding="utf-8")  # first: half-made, it is still known as ours
    base = getattr(sys, "_base_executable", None) or sys.executable  # ours may be the very Python that is replaced
    code, output = processes.ask([base, "-m", *VENV, str(folder)], deadline=300, env=installing.pip_environment())
    if code != 0 or not python_of(root).exists():
        raise installing.explain(output, code, root, folder / "pyvenv.cfg")


def _clear(folder, say):
    """Take an unusable environment away: ours is emptied, anybody else's only set aside."""
    if not os.path.lexists(str(folder)):
        return
    if folder.is_symlink() or not (folder / MARKER).is_file():
        aside = next(
            p
            for p in (folder.with_name(".venv-old" + n) for n in [""] + [str(i) for i in range(2, 99)])
            if not os.path.lexists(str(p))
        )
        folder.rename(aside)
        say(f"The .venv that stood here was not made by this command: it is kept as {aside.name}.")
        return
    for entry in folder.iterdir():  # the marker stays: interrupted here, the rest is still known as ours
        if entry.name != MARKER:
            shutil.rmtree(str(entry)) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _fill(root, say, hold):
    """Install into `.venv`, check that it works, and only then stamp it."""
    folder, python = folder_of(root), python_of(root)
    with contextlib.suppress(FileNotFoundError):
        (folder / STAMP).unlink()
    command = installing.pip_command(python, installed(root))
    installing.install(command, root, folder / "install.log", say, hold)
    say("Checking that it starts.")
    _smoke(root, python)
    stamp = fingerprint(root, _probe(python)[0])
    handle, name = tempfile.mkstemp(dir=str(folder))
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(stamp, file)
    os.replace(name, str(folder / STAMP))


def _smoke(root, python):
    wrong = differences(root)
    if wrong:
        raise Unexplained("{0[0]} {0[1]} is not in the environment after pip installed it.".format(wrong[0]))
    wanted = requirements(root)
    steps = [("labutils", "import labutils")] + [step for step in SMOKE if step[0] in wanted]
    program = "\n".join(f"print({name!r}, flush=True); {code}" for name, code in steps)
    settings = dict(child_environment(), TF_CPP_MIN_LOG_LEVEL="3")
    code, output = processes.ask([str(python), "-c", program], deadline=300, cwd=str(root), env=settings)
    if code == 0:
        return
    lines = output.strip().splitlines() or ["nothing"]
    reached = [line for line in lines if line in dict(steps)][-1:] or ["Python"]
    if code in (-4, 132):
        raise Trouble(
            f"{reached[0]} stopped with an illegal instruction: this processor lacks AVX, which TensorFlow needs. Use "
            "another machine."
        )
    raise Unexplained(
        "{} is installed but does not start ({}).".format(
            reached[0], "no answer in 300 s" if code is None else lines[-1]
        )
    )


def child_environment(**more):
    """The environment variables for what runs in `.venv`: the learner's own, less what would lead out of it."""
    dropped = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return dict(kept, JUPYTER_PREFER_ENV_PATH="1", **more)
