"""What each command of the CLI does, as plain functions."""
