"""A bar for long work, which leaves nothing behind in a stored output but its last words."""

import time

import ipywidgets as widgets
from IPython.display import display


class Progress:
    """A bar with words; call it with (done, of). It is shown when it is made, at most ten updates a second."""

    def __init__(self, label="runs"):
        self.label, self._last, self._began = label, 0.0, time.perf_counter()
        self.bar = widgets.IntProgress(min=0, max=1)
        self.words = widgets.HTML()
        display(widgets.HBox([self.bar, self.words]))

    def __call__(self, done, of):
        now = time.perf_counter()
        if done < of and now - self._last < 0.1:
            return
        self._last = now
        self.bar.max, self.bar.value = of, done
        words = f"{done} of {of} {self.label}, {now - self._began:.0f} s."
        self.words.value = words if done == of else f"{words} Interrupt the kernel to stop."
