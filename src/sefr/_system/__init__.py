"""What every room may ask for: threads, files written whole, locks, progress, harmless text, colours."""
