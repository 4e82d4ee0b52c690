"""Speed on a host, the published results, speed on a board."""
