"""The sequential test: draws, statistics, bets, and the searches around it."""
