"""The Workshop paper: its statements and its study."""
