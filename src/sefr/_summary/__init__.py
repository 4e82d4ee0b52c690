"""2. What is remembered: the Summary, its arithmetic and its bytes."""
