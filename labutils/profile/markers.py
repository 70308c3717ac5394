"""Step markers for Keras' `fit`, whose own TensorBoard callback sets none."""

import warnings

import keras

from labutils.profile.capturing import Session, _check_count


class StepMarkers(keras.callbacks.Callback):
    """Capture `steps` batches of `fit`, from the `first` on, each marked as a step: `captured`, a Capture, afterwards.

    A marker lasts from the beginning of a batch to its end, and Keras fetches the data within. Give it as the last of
    the callbacks. Where `fit` ends early, what there is is kept. TypeError or ValueError for arguments that make no
    sense; RuntimeError, from `fit`, where another profiler is running, as a TensorBoard callback with profile_batch.
    """

    def __init__(self, logdir, first=10, steps=10):
        super().__init__()
        _check_count("first", first, 0)
        _check_count("steps", steps, 1)
        self._first, self._steps = first, steps
        self._session, self._seen = Session(logdir, "StepMarkers"), 0
        self._running, self.captured = False, None

    def on_train_batch_begin(self, batch, logs=None):
        if self._seen == self._first and self.captured is None:
            self._session.start()
            self._running = True
        self._seen += 1
        if self._running:
            self._session.begin_step()

    def on_train_batch_end(self, batch, logs=None):
        if self._running:
            self._session.end_step()
            if self._session.steps >= self._steps:
                self._stop()

    def on_train_end(self, logs=None):
        if self._running:
            self._stop()
        elif self.captured is None:
            warnings.warn(
                f"StepMarkers captured nothing: fit made {self._seen} batches, and the first to capture was number "
                f"{self._first}. Train for longer, or set first=0.",
                stacklevel=2,
            )

    def _stop(self):
        self._running = False
        self.captured = self._session.stop()
