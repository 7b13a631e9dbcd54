from kernels import point_kernel

point_kernel("twice_T", header="twice.h", reads="T", writes="p", source="test", valid="everywhere")
