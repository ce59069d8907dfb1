"""Fitted classifiers for other runtimes."""

from crbm.export.onnx import to_onnx

__all__ = ["to_onnx"]
