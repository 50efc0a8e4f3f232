"""Every load generator behind one interface."""
