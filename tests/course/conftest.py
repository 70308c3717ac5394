"""A sound chapter in miniature, for tests that break it; and eight logical devices for those that need TensorFlow."""

import nbformat
import pytest
from hypothesis import HealthCheck, settings
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labutils.course.refresh import KERNELSPEC

# The same examples in every run, however busy the machine: a red test is a fault of the code, not of the hour.
settings.register_profile(
    "course", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("course")

IGNORED = "nbval-ignore-output"


@pytest.fixture
def chapter():
    """A notebook that keeps every rule. Its cells, by index, are what the planted faults speak of."""
    shown = new_output("stream", name="stdout", text="True\n")
    picture = new_output("display_data", data={"image/png": "iVBORw0KGgo=", "text/plain": "<Picture>"})
    points = "\n- **Measure** it.\n- **Compare** two.\n- **Keep** the better."
    cells = [
        new_markdown_cell("# 99 · In miniature\n\n**Time:** about 5 minutes."),
        new_markdown_cell(f"## What you will be able to do\n{points}"),
        new_code_cell("from labutils.train import devices\n\nmachine = devices.configure(replicas=8)"),
        new_code_cell("guess = predict('How long?', guess=1)\nguess", metadata={"tags": [IGNORED]}, outputs=[picture]),
        new_code_cell("took = measure(work)\ntook", metadata={"tags": [IGNORED]}, outputs=[picture]),
        new_code_cell("assert took.median > 0\nprint(took.median > 0)", outputs=[shown]),
        new_code_cell("def draw(n):\n    return picture(n)\n\n\nview = explore(draw, n=pick('n', [1, 2]))\nview"),
        new_code_cell("assert len(view.sweep()) == 2"),
        new_markdown_cell(f"## Recap\n{points}"),
        new_markdown_cell("## References\n\n- A book."),
    ]
    cells[6].metadata["tags"], cells[6].outputs = [IGNORED], [picture]
    code = [cell for cell in cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.execution_count = count
    facts = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": {"name": "python"}})
    return new_notebook(cells=cells, metadata=facts)


@pytest.fixture(scope="session")
def machine():
    from labutils.train import devices

    return devices.configure(replicas=8)
