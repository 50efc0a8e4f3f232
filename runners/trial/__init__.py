"""Load, profile and observe: raw files come out."""
