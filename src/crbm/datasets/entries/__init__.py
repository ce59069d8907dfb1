"""What each named data set consists of, one module per kind."""
