"""From a plan to source: what a family of kernels needs between its declaration and the compiler."""
