"""Rows that stay on a cluster: jobs over their partitions, and where these are kept between passes."""
