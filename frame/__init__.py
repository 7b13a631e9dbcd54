"""The host-facing layer: Fortran blocks in, named views on a device, kernels by name, Fortran blocks out."""
