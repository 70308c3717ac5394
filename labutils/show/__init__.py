"""The course's pictures (Matplotlib) and controls (ipywidgets)."""
