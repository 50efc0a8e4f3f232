"""Rules that find faults in the outputs of load tools, taken from documents, tools' files or the lab's own runs."""
