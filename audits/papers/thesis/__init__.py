"""The Thesis: its statements and its study."""
