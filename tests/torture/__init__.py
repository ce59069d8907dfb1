"""Attacks on the library: damaged files, killed processes, hostile requests and data.

`make torture` runs them for 20 minutes at most and prints one table; `test_torture.py`
runs a short version of each.
"""
