"""Opponents: classifiers of other libraries, tuned and read out like our own."""
