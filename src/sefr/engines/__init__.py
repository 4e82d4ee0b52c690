"""Rows from elsewhere: data frames, databases, clusters, streams. Engines add up; a Summary comes back."""
