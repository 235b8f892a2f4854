"""Justfiles: lines, settings and expressions."""
