"""3. What follows: weights from a Summary (equations 3 to 9), and further passes."""
