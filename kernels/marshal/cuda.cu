// Block -> stripe and back on the device. A thread takes one point and every gridDim.y-th variable, so neighbouring
// threads touch neighbouring x. `block` may lie in device memory or in pinned host memory: then the link carries whole
// rows of the selected points and nothing of the fringe, and a scatter writes the selected points alone. Block and view
// hold double or float each: the names say the bytes of an element in the block, then in the view.
struct Selection {
    long long sx, sy, sz, sv; // strides in elements; `block` points at the first selected element
    long long mx, my;         // selected extents
    long long start;          // first selected point of this stripe, x fastest
    int count, variables;
    __device__ __forceinline__ long long offset(long long t) const {
        const long long yz = t / mx, z = yz / my;
        return (t - yz * mx) * sx + (yz - z * my) * sy + z * sz;
    }
};

template <class View, class Element>
__device__ __forceinline__ void gather(const Element *block, View *view, long long row, const Selection &select) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= select.count) return;
    const Element *point = block + select.offset(select.start + i);
    for (int v = blockIdx.y; v < select.variables; v += gridDim.y) view[v * row + i] = View(point[v * select.sv]);
}

template <class View, class Element>
__device__ __forceinline__ void scatter(Element *block, const View *view, long long row, const Selection &select) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= select.count) return;
    Element *point = block + select.offset(select.start + i);
    for (int v = blockIdx.y; v < select.variables; v += gridDim.y) point[v * select.sv] = Element(view[v * row + i]);
}

extern "C" __global__ void __launch_bounds__(256)
    gather_8_8(const double *block, double *view, long long row, Selection select) {
    gather(block, view, row, select);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_8_8(double *block, const double *view, long long row, Selection select) {
    scatter(block, view, row, select);
}

extern "C" __global__ void __launch_bounds__(256)
    gather_8_4(const double *block, float *view, long long row, Selection select) {
    gather(block, view, row, select);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_8_4(double *block, const float *view, long long row, Selection select) {
    scatter(block, view, row, select);
}

extern "C" __global__ void __launch_bounds__(256)
    gather_4_8(const float *block, double *view, long long row, Selection select) {
    gather(block, view, row, select);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_4_8(float *block, const double *view, long long row, Selection select) {
    scatter(block, view, row, select);
}

extern "C" __global__ void __launch_bounds__(256)
    gather_4_4(const float *block, float *view, long long row, Selection select) {
    gather(block, view, row, select);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_4_4(float *block, const float *view, long long row, Selection select) {
    scatter(block, view, row, select);
}
