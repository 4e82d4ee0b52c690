"""Accuracy against time: the passes of SEFR beside the methods people use instead."""
