"""A comparison as one HTML page with SVG charts. It loads nothing, and has a light and a dark theme."""
