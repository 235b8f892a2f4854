"""Makefiles read from top to bottom, as GNU make reads them: lines, conditions, values, targets."""
