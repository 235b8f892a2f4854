"""compatcheck: one matrix of attention backends, KV-cache dtypes and GPUs; validators, probe, smoke tests and docs derived from it."""
