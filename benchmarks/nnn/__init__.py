"""What NNN decoding is compared with, and other ways to scan a corpus for it."""
