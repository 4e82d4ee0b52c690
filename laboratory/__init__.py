"""The paper, run again: its tables and figures from the data at hand, beside the published numbers."""
