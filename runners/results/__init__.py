"""The results of a run as typed values: answers with numbers and steps, which `report` puts into words."""
