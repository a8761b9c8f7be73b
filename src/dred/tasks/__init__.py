"""One folder for each kind of problem: its levels, environment, generators and pictures."""
