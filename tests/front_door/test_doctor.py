"""The doctor says what is, what is missing and what mends it, also where nothing is installed."""

import json
import sys

import pytest

from labutils import doctor, environment, platforms
from labutils.doctor import NOTE, OK, WRONG, finding


def test_without_an_environment_it_says_so_and_how_to_make_it(course):
    code, output = course.run("labutils", "doctor")
    assert code == 1
    assert "The environment .venv is not made yet." in output
    assert "To mend: python3 -m labutils start" in output
    assert "processor" in output and "memory" in output


def test_a_missing_and_another_version_are_told(course):
    course.light_venv()
    course.require("tiny==1.0", "pytest==0.1", "no-such-package==3")
    course.stamp()
    code, output = course.run("labutils", "doctor", "--json")
    facts = {each["subject"]: each for each in json.loads(output)["findings"]}
    assert code == 1
    assert facts["no-such-package"]["state"] == WRONG and "missing" in facts["no-such-package"]["text"]
    assert facts["pytest"]["facts"]["wanted"] == "0.1"
    assert facts["pytest"]["remedy"] == "python3 -m labutils start"


def test_only_what_is_wrong_keeps_the_course_from_running(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "CHECKS", [lambda root: [finding("a", "fine"), finding("b", "hm", NOTE, "do b")]])
    assert doctor.main([]) == 0
    assert capsys.readouterr().out.endswith("To mend: do b\nThe course runs here.\n")
    monkeypatch.setattr(doctor, "CHECKS", [lambda root: [finding("c", "bad", WRONG, "do c")]])
    assert doctor.main([]) == 1
    assert "The course would not run here yet: c." in capsys.readouterr().out


def test_a_tensorflow_that_does_not_start(course, monkeypatch):
    course.light_venv()
    course.require("tensorflow==2.21.0")
    monkeypatch.setattr(doctor, "runs_inside", lambda root: True)
    monkeypatch.setattr(doctor.processes, "ask", lambda *_, **__: (-4, ""))
    (found,) = doctor.check_tensorflow(course.root)
    assert found.state == WRONG and "AVX" in found.text


def test_a_gpu_that_tensorflow_does_not_see_is_told(course, monkeypatch):
    course.light_venv()
    course.require("tensorflow==2.21.0")
    monkeypatch.setattr(doctor, "runs_inside", lambda root: True)
    monkeypatch.setattr(doctor, "gpus", lambda: ["Tesla T4, 16 GB"])
    monkeypatch.setattr(doctor.processes, "ask", lambda *_, **__: (0, '["2.21.0", []]\n'))
    found = list(doctor.check_tensorflow(course.root))
    assert found[1].state == NOTE and "tensorflow[and-cuda]==2.21.0" in found[1].remedy


def test_a_profile_tab_that_will_be_there(course, monkeypatch):
    course.require("xprof==2.24.2")
    monkeypatch.setattr(doctor, "runs_inside", lambda root: True)
    (found,) = doctor.check_profile_tab(course.root)
    assert found.state == OK and "first run" in found.text


def test_a_profile_plugin_that_is_missing_or_does_not_load_is_told(course, monkeypatch):
    course.require("xprof==2.24.2")
    monkeypatch.setattr(doctor, "runs_inside", lambda root: True)
    monkeypatch.setattr(doctor.processes, "ask", lambda *_, **__: (1, "Traceback\nImportError: no such library\n"))
    (found,) = doctor.check_profile_tab(course.root)
    assert found.state == WRONG and found.text.endswith("cannot be loaded: ImportError: no such library")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    (found,) = doctor.check_profile_tab(course.root)
    assert found.state == WRONG and "the package xprof is missing" in found.text


@pytest.mark.parametrize("flags", [[], ["avx512_bf16", "amx_bf16"]])
@pytest.mark.parametrize("cores", [1, 8])
@pytest.mark.parametrize("cards", [[], ["A", "B"]])
def test_it_says_what_each_machine_can_show(monkeypatch, flags, cores, cards):
    monkeypatch.setattr(doctor, "processor", lambda: ("chip", flags))
    monkeypatch.setattr(doctor, "cores", lambda: cores)
    monkeypatch.setattr(doctor, "gpus", lambda: cards)
    text = {each.subject: each.text for each in doctor.check_shows(None)}
    assert ("amx_bf16" in text["bfloat16"]) == bool(flags)
    assert ("can only be predicted" in text["scaling"]) == (cores == 1)
    assert ("2 GPUs" in text["many devices"]) == bool(cards)


def test_a_full_disk_is_told(course, monkeypatch):
    monkeypatch.setattr(doctor.installing, "free_gigabytes", lambda folder: 0.1)
    (found,) = doctor.check_disk(course.root)
    assert found.state == WRONG and "0.1 GB free" in found.text


def test_the_facts_of_this_machine_are_sane():
    assert platforms.cores() >= 1
    assert platforms.memory_gb() is None or platforms.memory_gb() > 0.1
    assert platforms.processor()[0]


def test_the_requirements_of_the_running_environment_are_met():
    """Whoever runs the tests runs them with what requirements.txt names."""
    from importlib import metadata

    root = environment.root_folder()
    wrong = {
        name: wanted for name, wanted in environment.requirements(root).items() if metadata.version(name) != wanted
    }
    assert not wrong, f"{sys.executable} has other versions of {wrong}"


def test_outside_its_environment_it_judges_no_packages(course):
    course.light_venv()
    assert list(doctor.check_requirements(course.root)) == []
