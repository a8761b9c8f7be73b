"""What `dred bench` runs. Ratios are measured in one process, as machines are shared and noisy."""
