"""What a client does with its data when asked for an update: one of TMLR's three ways."""
