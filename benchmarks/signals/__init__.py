"""Signals: accuracy, time and cost on boards, beside MiniRocket."""
