"""Tests as programs that need no Python: one file of C, one ONNX graph."""
