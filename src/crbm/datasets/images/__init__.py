"""Images and masks: folders, NPZ files, label PNGs."""
