"""What `crbm bench` measures, side by side with others and in one run."""
