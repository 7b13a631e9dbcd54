// Block -> stripe and back on the device. A thread takes one point and every gridDim.y-th variable, so neighbouring
// threads touch neighbouring x. `block` may lie in device memory or in pinned host memory: then the link carries whole
// rows of the selected points and nothing of the fringe, and a scatter writes the selected points alone.
struct Selection {
    long long sx, sy, sz, sv;     // strides in elements; `block` points at the first selected element
    long long mx, my;             // selected extents
    long long start;              // first selected point of this stripe, x fastest
    int count, variables;
    __device__ __forceinline__ long long offset(long long t) const {
        const long long yz = t/mx, z = yz/my;
        return (t - yz*mx)*sx + (yz - z*my)*sy + z*sz;
    }
};

extern "C" __global__ void __launch_bounds__(256)
gather_stripe(const double *block, double *view, long long row, Selection select) {
    const int i = blockIdx.x*256 + threadIdx.x;
    if (i >= select.count) return;
    const double *point = block + select.offset(select.start + i);
    for (int v = blockIdx.y; v < select.variables; v += gridDim.y) view[v*row + i] = point[v*select.sv];
}

extern "C" __global__ void __launch_bounds__(256)
scatter_stripe(double *block, const double *view, long long row, Selection select) {
    const int i = blockIdx.x*256 + threadIdx.x;
    if (i >= select.count) return;
    double *point = block + select.offset(select.start + i);
    for (int v = blockIdx.y; v < select.variables; v += gridDim.y) point[v*select.sv] = view[v*row + i];
}
