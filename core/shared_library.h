// A shared library that is loaded when it is needed and not when the program starts: so the same program
// starts where the library is missing, and can say what that means.
#pragma once

#include <string>
#include <vector>

namespace brightnet {

class SharedLibrary {
 public:
  /// Loads `name` ("libcudnn.so.9") as the system finds it (LD_LIBRARY_PATH, the system's folders), else from
  /// the first of `folders` that has it. A library that cannot be loaded is no error yet: ask loaded().
  explicit SharedLibrary(std::string name, const std::vector<std::string>& folders = {});
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  bool loaded() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }
  /// The file that was loaded; empty when none was.
  std::string path() const;
  /// The loader's words on why it was not loaded; empty when it was.
  const std::string& problem() const { return problem_; }

  void* handle() const { return handle_; }
  /// nullptr when the library has no such symbol, or is not loaded.
  void* symbol(const char* name) const;
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  std::string name_, problem_;
  // Never closed: CUDA's libraries have threads and exit handlers that must find their code.
  void* handle_ = nullptr;
};

}  // namespace brightnet
