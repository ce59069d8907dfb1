"""The suites of `crbm bench`: speed and accuracy, compared in one run."""
