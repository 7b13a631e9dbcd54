from kernels import point_kernel

point_kernel("copies", header="copies.h", reads="T Y", writes="p X D_ij", source="test", valid="everywhere")
