"""What a Diff counts as a change."""

from labutils.show.diff import PUT, TAKEN, diff


def on_one_device(model, x, y):
    """One step."""
    loss = model(x) - y
    return loss


def on_replicas(model, x, y):
    """One step on every replica: another name and another docstring."""
    with model.scope():
        loss = model(x) - y
        total = loss + loss
    return total


def explained(model, x, y):
    """One step.

    With a docstring of several lines.
    """
    loss = model(x) - y
    return loss


def html_inside(x):
    return x < 3 and "<b>" != "&"


def html_changed(x):
    return x > 3


def spread(
    model,
    x,
):
    loss = model(x)
    return loss


def test_lines_are_taken_out_put_in_or_kept():
    assert diff(on_one_device, on_replicas).lines == (
        ("+", "with model.scope():"),
        (" ", "    loss = model(x) - y"),
        ("-", "return loss"),
        ("+", "    total = loss + loss"),
        ("+", "return total"),
    )


def test_the_new_lines_are_counted():
    assert diff(on_one_device, on_replicas).changed == 3
    assert diff(on_replicas, on_one_device).changed == 1


def test_a_function_does_not_differ_from_itself():
    same = diff(on_one_device, on_one_device)
    assert same.changed == 0 and {sign for sign, _ in same.lines} == {" "}


def test_names_parameters_and_docstrings_do_not_count():
    assert [line for _, line in diff(spread, spread).lines] == ["loss = model(x)", "return loss"]
    assert diff(on_one_device, explained).lines == diff(on_one_device, on_one_device).lines
    listing = repr(diff(on_one_device, on_replicas))
    assert "def " not in listing and '"""' not in listing and "One step" not in listing


def test_plain_text_reads_like_a_diff():
    assert repr(diff(html_inside, html_changed)) == '- return x < 3 and "<b>" != "&"\n+ return x > 3'


def test_html_escapes_the_code_and_tints_the_changes_alone():
    html = diff(html_inside, html_changed)._repr_html_()
    assert "x &lt; 3 and &quot;&lt;b&gt;&quot; != &quot;&amp;&quot;" in html and "<b>" not in html
    assert f"background:{TAKEN}33'>- return" in html and f"background:{PUT}33'>+ return" in html
    assert "background" not in diff(spread, spread)._repr_html_()
