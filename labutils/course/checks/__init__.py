"""The checks of the labs, one module per chapter. A check takes a learner's answer and returns a Verdict."""
