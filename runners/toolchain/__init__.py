"""Find and build the tools: JDK, Maven, cargo, profilers, load generators."""
