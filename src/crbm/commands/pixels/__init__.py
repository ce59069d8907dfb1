"""What the commands do for models that label the pixels of images."""
