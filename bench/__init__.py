"""Figures as ratios: ours beside a floor, interleaved in one run. `make bench` prints them."""
