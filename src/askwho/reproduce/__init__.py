"""Studies that come out of one command: the paper's experiments, and the benchmark on real logs."""
