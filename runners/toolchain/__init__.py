"""Find JDKs, Maven, cargo and other tools; build the lab's servers and load generators."""
