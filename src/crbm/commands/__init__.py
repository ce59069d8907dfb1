"""What the commands do with users' files, as plain functions."""
