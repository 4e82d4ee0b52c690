"""1. What was passed: arrays, frames, sparse, labels and weights, as the kernels read them."""
