"""Rules that find faults in outputs of load tools, in documents, tools' files and the lab's own runs."""
