"""How a global batch falls into shares, and what an example of each share weighs in a mean of means."""

from matplotlib.patches import Patch

from labutils.show import style

FAIR, HEAVY, LIGHT, EMPTY = "#009E73", "#D55E00", "#56B4E9", "#B4B4B4"
LEGEND = ((FAIR, "each example weighs ×1"), (HEAVY, "too much"), (LIGHT, "too little"))


def draw_shares(full, tail, title="", width=10.0):
    """Draw two panels, a full batch and the last one, a bar per replica: a Figure.

    `full` and `tail` are lists of (examples, weight), one per replica; weight 1 is what every example should
    weigh. `tail` is None where the last batch is a full one. ValueError where there is no replica.
    """
    if not full or tail == []:
        raise ValueError("There is nothing to draw: give the share of at least one replica.")
    with style.style():
        figure = style.picture(width, 4.2)
        axes = [figure.add_axes((left, 0.17, 0.425, 0.55)) for left in (0.065, 0.565)]
        most = max(examples for examples, _ in [*full, *(tail or [])]) or 1
        _draw_panel(axes[0], full, most, "a full batch")
        if tail is None:
            axes[1].set_axis_off()
            axes[1].text(0.5, 0.5, "The last batch is full too.", ha="center", va="center", transform=axes[1].transAxes)
        else:
            _draw_panel(axes[1], tail, most, "the last batch")
        figure.text(0.02, 0.97, title, size=14, weight="bold", va="top")
        handles = [Patch(color=color, label=label) for color, label in LEGEND]
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.06, 0.92), ncols=3, handlelength=1)
    return figure


def _draw_panel(axes, shares, most, title):
    heights = [examples for examples, _ in shares]
    axes.bar(range(len(shares)), heights, color=[_color(*share) for share in shares], width=0.7)
    for replica, (examples, weight) in enumerate(shares):
        label = f"{examples}\n×{weight:.2g}" if examples else "none"
        axes.text(replica, examples + 0.03 * most, label, ha="center", va="bottom", size=12)
    axes.set_xlim(-0.5, len(shares) - 0.5)  # no margin: eight labels just fit
    axes.set_ylim(0, most * 1.38)
    axes.set_xticks(range(len(shares)))
    axes.set_xlabel("replica")
    axes.set_ylabel("examples")
    axes.set_title(title, fontsize=13, fontweight="normal")


def _color(examples, weight):
    if not examples:
        return EMPTY
    if abs(weight - 1) < 1e-6:
        return FAIR
    return HEAVY if weight > 1 else LIGHT
