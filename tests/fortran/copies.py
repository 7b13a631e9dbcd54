from kernels import point_kernel

point_kernel("copies", header="copies.h", reads="T Y", writes="p X D_ij", source="test", valid="everywhere")
point_kernel("straight", header="copies.h", reads="T Y", writes="p X", source="test", valid="everywhere")
