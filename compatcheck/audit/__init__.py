"""What a release's own code says, compared with the matrix."""
