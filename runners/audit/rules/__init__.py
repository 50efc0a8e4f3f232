"""The rules of the audit, by what they look at."""
