"""What is wrong with an output of a load generator: rules on anyone's report, and on every run of our own."""
