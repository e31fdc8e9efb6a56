"""A comparison as one page: charts drawn as SVG, nothing loaded from anywhere, light and dark."""
