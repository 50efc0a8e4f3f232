"""Drive every load generator through one interface."""
