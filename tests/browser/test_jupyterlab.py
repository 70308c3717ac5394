"""The chapters in the page that learners have before them: everything runs, sliders answer, predictions are kept."""

import statistics

ANSWER = 1.0  # s from the key press to the new picture


def check_slider(notebook, record, cell, label, *keys):
    """A slider answers: its picture changes, soon, and no error stands below the controls."""
    picture = notebook.picture(cell)
    seconds = picture.move(label, *keys)
    notebook.screenshot(cell)
    record(f"{cell}: {label}", f"{statistics.median(seconds):.3f} s")
    print(f"{cell}: {label}: median {statistics.median(seconds):.3f} s of", [round(each, 3) for each in seconds])
    # The quickest counts: another program may hold up a move, none can hurry one.
    assert min(seconds) < ANSWER, f"{label} answered after {seconds} s"
    assert picture.message == ""


def test_chapter_01_runs_and_its_sliders_answer(lab, record_property):
    with lab.open("01_the_four_phases.ipynb") as chapter:
        chapter.run_all()
        assert chapter.errors() == []
        right_left = ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight", "ArrowLeft"]
        check_slider(chapter, record_property, "slider-ring", "Round", *right_left)
        left_right = ["ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowLeft", "ArrowRight"]
        check_slider(chapter, record_property, "slider-step-time", "Compute", *left_right)
        assert chapter.too_wide() == []


def test_a_prediction_is_committed_before_the_measurement(lab):
    with lab.open("00_start_here.ipynb") as chapter:
        chapter.run("setup", "predict1")
        guess = chapter.cell("predict1")
        guess.locator("input[type=number]").fill("7")
        guess.locator("input[type=number]").press("Tab")
        guess.get_by_role("button", name="Commit").click()
        guess.get_by_text("Committed: 7").wait_for()
        chapter.run("measure", "reveal1")
        assert "You said" in chapter.output("reveal1")
        chapter.show("predict1")
        chapter.screenshot("revealed")
        assert chapter.errors() == []


def test_an_unsolved_lab_says_not_yet(lab):
    with lab.open("labs/01_the_four_phases_lab.ipynb") as exercises:
        exercises.run_all()
        assert exercises.errors() == []
        checks = [name for name in exercises.code if name.endswith("-check")]
        assert len(checks) >= 3
        for check in checks:
            assert "Not yet" in exercises.output(check), check
        exercises.screenshot("unsolved")
