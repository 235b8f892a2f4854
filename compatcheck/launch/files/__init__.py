"""Readers of files that launch the engine, one file each; `registry.READERS` lists them."""
