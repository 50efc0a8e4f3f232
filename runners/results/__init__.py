"""The results of a run as typed values: answers with the numbers and the steps that they rest on. No English."""
