"""The tools of the lab: find or build JDK, Maven, cargo, profilers, load generators."""
