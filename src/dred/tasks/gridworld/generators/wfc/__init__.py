"""Wave function collapse fitted to a dataset: its own windows, and where its things lie."""
