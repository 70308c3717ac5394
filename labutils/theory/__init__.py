"""The arithmetic of distributed training: collectives, their cost, the step they belong to. NumPy only."""
