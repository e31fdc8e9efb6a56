"""Text to vectors and scores with ONNX models. Knows nothing of tools; no torch at run time."""
