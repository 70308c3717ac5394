"""The outcome of a way to write the loss: what is reported and how far the weights move, against the truth."""

from labutils.show import style

RIGHT, WRONG = "#009E73", "#D55E00"


def draw_outcome(reported, moved, title="", width=8.0):
    """Draw two bars, the reported loss and the update, as multiples of one device's: a Figure.

    A bar is green where it is right (within 1%), orange where it is not.
    """
    with style.style():
        figure = style.picture(width, 2.6)
        axes = figure.add_axes((0.25, 0.3, 0.7, 0.5))
        for place, value in enumerate((moved, reported)):
            right = abs(value - 1) < 0.01
            axes.barh(place, value, color=RIGHT if right else WRONG, height=0.6)
            axes.text(value + 0.06, place, f"{value:.2f} x" + (" (right)" if right else ""), va="center")
        axes.axvline(1, color=style.INK, lw=1.5)
        axes.set_yticks([0, 1], ["update of weights", "loss reported"])
        axes.set_xlim(0, max(4.8, reported * 1.2, moved * 1.2))
        axes.set_xlabel("multiple of what one device gives")
        axes.set_title(title)
    return figure
