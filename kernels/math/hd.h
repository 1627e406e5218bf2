// Marks functions that the host compiler and nvcc both compile: the formulas are written once.
#pragma once

#ifdef __CUDACC__
#define BRIGHTNET_HD __host__ __device__ inline
/// Before a template whose argument is a function, and which calls it: that function is the host's where the
/// host calls the template, and the device's where a kernel does.
#define BRIGHTNET_HD_CALLER _Pragma("nv_exec_check_disable")
/// Of a function that must be part of its caller, in registers and branches.
#define BRIGHTNET_HD_INLINE __host__ __device__ __forceinline__
#else
#define BRIGHTNET_HD inline
#define BRIGHTNET_HD_CALLER
#define BRIGHTNET_HD_INLINE inline
#endif
