"""The results of a run as typed values: answers with the numbers and steps behind them, but no English."""
