"""Labelling the pixels of images."""

from crbm.estimators.pixels.classifier import PixelClassifier

__all__ = ["PixelClassifier"]
