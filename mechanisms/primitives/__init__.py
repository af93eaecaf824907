"""What mechanisms are made of: clipping, noise, sampling, partitions."""
