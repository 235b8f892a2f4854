"""What works on a host: the table of KV-cache dtypes and backends for each of its GPUs."""
