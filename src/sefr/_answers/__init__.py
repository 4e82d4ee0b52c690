"""4. What is said: scores, probabilities, contributions, reports."""
