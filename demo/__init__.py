"""What `crbm demo` does: both of the paper's algorithms on real, embedded data."""
