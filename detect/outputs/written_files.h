// Records the files that a command wrote (`detect`, `data show`), the only ones that it may replace: labels
// corrected by a user and a user's images look the same.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace brightnet {

/// A folder's list of the files that a command wrote there, kept in the folder (".brightnet-detect"; a line
/// "hash name" a file) so that the same command can be given again.
class WrittenFiles {
 public:
  /// Reads the folder's list, of which only names that lie in the folder count; the folder may not be there yet. `option`
  /// named the folder. Throws InputError where the list is a symbolic link.
  WrittenFiles(std::filesystem::path folder, std::string option, std::string command = "detect");

  /// FOLDER/NAME, for writing. Throws InputError when a file is there that is not in the list, or that was
  /// changed since.
  std::filesystem::path place(const std::string& name);

  /// place(), begin(), what writes the file, and note().
  void write(const std::string& name, const std::function<void(const std::filesystem::path& file)>& write);
  /// Puts FOLDER/NAME, as it is now, on the list.
  void note(const std::string& name);
  /// Records that writing FOLDER/NAME begins. Without a following note(), if the program was killed, it may
  /// be replaced whatever its content.
  void begin(const std::string& name);

  /// Removes what an earlier call wrote and this one did not, unless it was changed since; of several objects for one
  /// folder, each must remove names of its own, which `which` tells.
  void remove_the_rest(const std::function<bool(const std::filesystem::path& name)>& which =
                           [](const std::filesystem::path&) { return true; });

 private:
  void read_list();
  void put(const std::string& name, const std::string& hash);
  void write_list() const;

  std::filesystem::path folder_;
  std::string option_, command_;
  std::filesystem::path list_;
  std::map<std::string, std::string> written_;  ///< name → hash of the content
  std::set<std::string> ours_;                  ///< may be replaced: found unchanged, or put on the list
  std::set<std::string> now_;                   ///< files that this object wrote
  bool was_empty_ = true;                       ///< whether there was nothing that could be replaced
};

}  // namespace brightnet
