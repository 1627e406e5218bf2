// Marks a function as one that the host compiler and nvcc both compile: the formulas are written once.
#pragma once

#ifdef __CUDACC__
#define BRIGHTNET_HD __host__ __device__ inline
#else
#define BRIGHTNET_HD inline
#endif
