// A shared library that is loaded on demand, so that the program also starts where it is missing.
#pragma once

#include <string>
#include <vector>

namespace brightnet {

/// The folder of Python's packages ("site-packages") that this code was installed into by pip; empty elsewhere.
/// Libraries of other wheels lie in it.
std::string python_packages();
/// The folder of Python's packages that this `file` lies in; empty when it lies in none.
std::string python_packages_above(const std::string& file);

class SharedLibrary {
 public:
  /// Whether libraries that are loaded later also find its symbols.
  enum class Symbols { local, global };

  /// Loads `name` ("libcudnn.so.9") from the loader's search path (LD_LIBRARY_PATH, system folders), else
  /// from the first of `folders` that has it. Does not throw when it cannot be loaded: check loaded().
  explicit SharedLibrary(std::string name, const std::vector<std::string>& folders = {},
                         Symbols symbols = Symbols::local);
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  bool loaded() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }
  /// The file that was loaded; empty when none was.
  std::string path() const;
  /// The loader's error message; empty when it was loaded.
  const std::string& problem() const { return problem_; }

  void* handle() const { return handle_; }
  /// The address of a symbol; nullptr when the library has no such symbol, or is not loaded.
  void* symbol(const char* name) const;
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  std::string name_, problem_;
  // Never closed: CUDA's libraries have threads and exit handlers that still need their code.
  void* handle_ = nullptr;
};

}  // namespace brightnet
