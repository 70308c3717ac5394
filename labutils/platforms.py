"""What this machine is, and which Python and machine the course's TensorFlow has packages for.

Standard library only, in syntax that an old Python can read: this is what tells its owner that it is old.
"""

import collections
import os
import pathlib
import platform
import re
import shutil
import struct
import sys
import sysconfig

from labutils import processes

# These belong to the pins in requirements.txt: the wheels on PyPI of that TensorFlow, and NumPy's oldest Python.
TENSORFLOW = "2.21"
OLDEST, NEWEST = (3, 11), (3, 13)
MACHINES = {
    "Linux": ("x86_64", "aarch64"),
    "Darwin": ("arm64",),
    "Windows": ("AMD64",),
}
GLIBC = (2, 27)
MACOS = (12, 0)

# The processor flags that tell a trainer something: wide vectors, and arithmetic in bfloat16.
FLAGS = ["avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile", "asimd", "sve", "bf16", "i8mm"]

Python = collections.namedtuple(
    "Python", "version implementation bits free_threaded system machine libc libc_version macos"
)


def this_python():
    """What the running interpreter is, as far as wheels care."""
    libc, libc_version = platform.libc_ver() if sys.platform.startswith("linux") else ("", "")
    return Python(
        version=tuple(sys.version_info[:2]),
        implementation=platform.python_implementation(),
        bits=8 * struct.calcsize("P"),
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        system=platform.system(),
        machine=platform.machine(),
        libc=libc,
        libc_version=libc_version,
        macos=platform.mac_ver()[0],
    )


def dotted(version):
    return ".".join(str(part) for part in version)


def _numbers(text):
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


def unsuitable(python):
    """One sentence saying why the course cannot be installed with this Python, or None."""
    reason = _wrong_python(python) or _wrong_machine(python)
    return reason and f"TensorFlow {TENSORFLOW} has no package for {reason}"


def _wrong_python(python):
    span = f"{dotted(OLDEST)} to {dotted(NEWEST)}"
    if not OLDEST <= python.version <= NEWEST:
        return f"Python {dotted(python.version)}: the course needs Python {span}. {_remedy()}"
    if python.implementation != "CPython":
        return f"{python.implementation}: the course needs the usual CPython, {span}. {_remedy()}"
    if python.bits != 64:
        return f"a {python.bits}-bit Python: install the 64-bit Python, {span}."
    if python.free_threaded:
        return f"the free-threaded Python: the course needs the usual build, {span}. {_remedy()}"
    return None


def _wrong_machine(python):
    machines = MACHINES.get(python.system)
    if machines is None:
        return "{}: the course runs on Linux, macOS and Windows.".format(python.system or "this system")
    if python.system == "Darwin" and python.machine == "x86_64":
        return (
            "Macs with an Intel processor, nor for a Python that runs under Rosetta: the course needs an "
            "Apple-silicon Mac with an arm64 Python, or a Linux machine or container."
        )
    if python.machine not in machines:
        return "{} on {}: it has them for {}.".format(python.system, python.machine, " and ".join(machines))
    if python.system == "Linux" and python.libc != "glibc":
        return "a Linux without glibc (Alpine and others with musl): use a Debian, Ubuntu or Fedora image."
    if python.system == "Linux" and _numbers(python.libc_version) < GLIBC:
        return f"glibc {python.libc_version}: it needs {dotted(GLIBC)} or newer, so a newer release of this Linux."
    if python.system == "Darwin" and _numbers(python.macos) < MACOS:
        return f"macOS {python.macos}: it needs {MACOS[0]} or newer."
    return None


def _remedy():
    """The command to run instead, with a Python that this machine already has where there is one."""
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        name = f"python3.{minor}"
        if shutil.which(name) and _really_runs(name):
            return f"This machine has one: run `{name} -m labutils start`."
    return "Install one from python.org or your package manager, then run the same command with it."


def _really_runs(name):
    """Whether `name` is an interpreter, and not a version manager's stub for one that is not switched on."""
    try:
        return processes.ask([name, "-c", "import ensurepip, venv"], deadline=20)[0] == 0
    except OSError:
        return False


def lacks_venv():
    """One sentence where this Python cannot make environments (Debian ships it without), or None."""
    import importlib.util

    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if not missing:
        return None
    package = f"python{dotted(sys.version_info[:2])}-venv"
    how = f"`sudo apt install {package}`" if os.path.exists("/etc/debian_version") else "a full Python"
    return (
        f"{sys.executable} cannot make an environment, because its module {missing[0]} is missing: install {how}, "
        "then run the same command again."
    )


def _run(command, deadline=20):
    """A command's output, or an empty string where it does not exist or fails."""
    try:
        code, output = processes.ask(command, deadline)
    except OSError:
        return ""
    return output if code == 0 else ""


def cores():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_gb():
    """Physical memory, or None where the system does not say."""
    if platform.system() == "Darwin":
        text = _run(["sysctl", "-n", "hw.memsize"]).strip()
        return int(text) / 1e9 if text.isdigit() else None
    if platform.system() == "Windows":
        text = _run(
            ["powershell", "-NoProfile", "-Command", "(Get-CimInstance Win32_ComputerSystem).TotalPhysicalMemory"]
        ).strip()
        return int(text) / 1e9 if text.isdigit() else None
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):  # a container's share
        try:
            total = min(total, int(pathlib.Path(limit).read_text()))
        except (OSError, ValueError):
            continue
    return total / 1e9


def processor():
    """(model, the flags that matter to a trainer) of the processor."""
    if platform.system() == "Darwin":
        return _run(["sysctl", "-n", "machdep.cpu.brand_string"]).strip() or platform.machine(), []
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine(), []
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    present = set(flags.group(1).split()) if flags else set()
    return model.group(1) if model else platform.machine(), [f for f in FLAGS if f in present]


def gpus():
    lines = _run(["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]).strip().splitlines()
    return [line.strip() for line in lines]
