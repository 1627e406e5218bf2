// Open MPI, loaded when this process is one of several ranks, so that the program also runs where there is none.
//
// The types are those of Open MPI's <mpi.h>. Its handles are macros of addresses in libmpi.so.40 (MPI_COMM_WORLD is
// that of ompi_mpi_comm_world), and code that uses one would link the library: the members below stand for them. The
// binary interface has been the same since Open MPI 3; that of MPICH and of Intel MPI (libmpi.so.12) is another.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#ifndef OPEN_MPI
#error "brightnet is compiled with the header of Open MPI (Debian and Ubuntu: libopenmpi-dev)"
#endif

namespace brightnet {

struct MpiLibrary {
  decltype(&MPI_Init_thread) init_thread;
  decltype(&MPI_Finalize) finalize;
  decltype(&MPI_Abort) abort;
  decltype(&MPI_Error_string) error_string;

  decltype(&MPI_Comm_rank) comm_rank;
  decltype(&MPI_Comm_size) comm_size;
  decltype(&MPI_Comm_dup) comm_dup;
  decltype(&MPI_Comm_free) comm_free;
  decltype(&MPI_Comm_set_errhandler) comm_set_errhandler;

  decltype(&MPI_Allreduce) allreduce;
  decltype(&MPI_Bcast) bcast;
  decltype(&MPI_Allgather) allgather;
  decltype(&MPI_Allgatherv) allgatherv;
  decltype(&MPI_Barrier) barrier;

  decltype(&MPI_Iprobe) iprobe;
  decltype(&MPI_Recv) recv;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Test) test;
  decltype(&MPI_Request_free) request_free;

  MPI_Comm world;
  MPI_Errhandler errors_return;
  MPI_Datatype byte_type, int_type, float_type, double_type;
  MPI_Op sum;
  MPI_Request request_null;

 private:
  MpiLibrary();
  friend const MpiLibrary& mpi();
};

/// Open MPI, loaded at the first call. Throws DeviceError when there is none, or it lacks one of these.
const MpiLibrary& mpi();

}  // namespace brightnet
