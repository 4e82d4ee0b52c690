"""What every room may ask of the operating system: threads, files written whole, progress."""
