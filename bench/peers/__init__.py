"""What runs in the peers' own Python, `.bench/peer`. Nothing here imports this package."""
