// Marks functions that the host compiler and nvcc both compile: the formulas are written once.
#pragma once

#ifdef __CUDACC__
#define BRIGHTNET_HD __host__ __device__ inline
/// Stands before a template that calls a function passed to it: a host function in host code, a device function
/// in kernels.
#define BRIGHTNET_HD_CALLER _Pragma("nv_exec_check_disable")
/// A function that must be inlined.
#define BRIGHTNET_HD_INLINE __host__ __device__ __forceinline__
#else
#define BRIGHTNET_HD inline
#define BRIGHTNET_HD_CALLER
#define BRIGHTNET_HD_INLINE inline
#endif
