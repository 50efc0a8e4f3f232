"""Measure with several machines: generators that share a load, hosts that share a campaign."""
