"""What takes part in an answer and is not evaluated: watched by fingerprint, so that a change is never silent."""
