"""The TMLR paper: its statements and its study."""
