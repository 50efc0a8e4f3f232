"""The performance lab: plan -> launch -> measure -> read -> explain -> show."""

__version__ = "0.1.0"
