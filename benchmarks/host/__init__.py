"""How fast the host code is: against the read limit of the machine, against peers, and how it grows."""
