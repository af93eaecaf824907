"""The TUM report: its statements and its study."""
