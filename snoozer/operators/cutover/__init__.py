"""Cutting over from another scheduler: its jobs are read, imported, and compared with what it really sent."""
