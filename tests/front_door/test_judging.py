"""When `.venv` is taken for done, and when not."""

import json
import shutil
import time

from labutils import environment
from labutils.environment import ABSENT, BROKEN, FOREIGN, READY, UNFINISHED


def test_a_fresh_clone_has_no_environment(course):
    assert course.state() == ABSENT


def test_an_empty_folder_is_no_environment(course):
    course.venv.mkdir()
    assert course.state() == ABSENT


def test_a_folder_of_somebody_elses_files_is_not_ours(course):
    course.venv.mkdir()
    (course.venv / "thesis.txt").write_text("years of work")
    assert course.state() == FOREIGN


def test_a_file_is_not_an_environment(course):
    course.venv.write_text("")
    assert course.state() == FOREIGN


def test_without_its_stamp_it_is_unfinished(course):
    course.light_venv(stamped=False)
    assert course.state() == UNFINISHED


def test_a_complete_one_is_ready_within_a_second(course):
    course.light_venv()
    started = time.monotonic()
    assert course.state() == READY
    assert time.monotonic() - started < 1


def test_changed_requirements_are_noticed(course):
    course.light_venv()
    course.require("tiny==1.0", "# a comment more")
    assert course.state() == UNFINISHED


def test_a_changed_pyproject_is_noticed(course):
    course.light_venv()
    (course.root / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert course.state() == UNFINISHED


def test_a_damaged_stamp_counts_as_none(course):
    course.light_venv()
    (course.venv / environment.STAMP).write_text('["half"')
    assert course.state() == UNFINISHED


def test_a_moved_course_is_noticed(course, tmp_path):
    course.light_venv()
    moved = tmp_path / "moved"
    shutil.move(course.root, moved)
    verdict = environment.judge(moved)
    assert verdict.state == BROKEN
    assert "cannot be moved" in verdict.reason


def test_a_course_moved_before_it_was_finished_is_noticed(course, tmp_path):
    course.light_venv(stamped=False)
    moved = tmp_path / "moved"
    shutil.move(course.root, moved)
    assert environment.judge(moved).state == BROKEN


def test_a_removed_interpreter_is_noticed(course):
    course.light_venv()
    for link in environment.python_of(course.root).parent.glob("python*"):
        link.unlink()
        link.symlink_to("/nowhere/python3")
    assert course.state() == BROKEN


def test_an_interpreter_that_does_not_run_is_noticed(course):
    course.light_venv()
    python = environment.python_of(course.root)
    python.unlink()
    python.write_text("#!/bin/sh\necho broken library >&2; exit 127\n")
    python.chmod(0o755)
    verdict = environment.judge(course.root)
    assert verdict.state == BROKEN
    assert "broken library" in verdict.reason


def test_an_environment_of_an_old_python_is_noticed(course):
    course.light_venv()
    python = environment.python_of(course.root)
    python.unlink()
    python.write_text("#!/bin/sh\necho 3.9; echo /prefix\n")
    python.chmod(0o755)
    assert "Python 3.9" in environment.judge(course.root).reason


def test_a_package_of_another_version_is_noticed(course):
    site = course.light_venv()
    (site / "tiny-1.0.dist-info").rename(site / "tiny-3.0.dist-info")
    verdict = environment.judge(course.root)
    assert verdict.state == UNFINISHED
    assert "tiny is 3.0, requirements.txt asks for 1.0" in verdict.reason


def test_requirements_are_read_as_pip_reads_them(course):
    course.require("# why", "Big-Name[extra]==1.2  # pinned", "plain", "-e .", "", 'elsewhere==1; sys_platform == "x"')
    assert environment.requirements(course.root) == {"big-name": "1.2", "plain": None}


def test_a_package_is_found_by_any_spelling(course):
    site = course.light_venv()
    (site / "Import_Linter-2.0.dist-info").mkdir()
    course.require("import-linter==2.0")
    assert environment.differences(course.root) == []


def test_windows_keeps_its_python_elsewhere(course):
    path = environment.python_of(course.root, windows=True)
    assert path.parts[-3:] == (".venv", "Scripts", "python.exe")


def test_the_fingerprint_can_be_stored(course):
    made = environment.fingerprint(course.root, "3.11")
    assert json.loads(json.dumps(made)) == made
