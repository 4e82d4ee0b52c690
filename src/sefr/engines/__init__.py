"""Rows from elsewhere: data frames, databases, clusters and streams. Each engine adds up; a Summary comes back."""
