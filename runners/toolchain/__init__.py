"""The tools, found or built: JDK, Maven, cargo, profilers, load generators."""
