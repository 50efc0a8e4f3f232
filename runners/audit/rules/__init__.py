"""The rules of the audit, a module for each subject."""
