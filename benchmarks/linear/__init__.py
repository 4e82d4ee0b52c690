"""Linear models beside each other: time to the same loss; ``make bench-linear``."""
