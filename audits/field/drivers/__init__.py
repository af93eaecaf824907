"""What several findings share; runs in a library's own environment, never in ours."""
