"""Training on the requests, catalogs and teachers of whoever runs kitpick: behind `kitpick models`."""
