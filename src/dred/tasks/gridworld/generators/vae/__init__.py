"""A graph VAE over levels: fitted to a dataset, it proposes levels like those in it."""
