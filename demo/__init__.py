"""`crbm demo`: both algorithms of the paper on data that PyPI packages contain."""
