"""The tables and figures of the paper, declared as runs."""
