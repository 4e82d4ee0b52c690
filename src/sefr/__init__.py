"""The SEFR classifier, exact in one pass."""
