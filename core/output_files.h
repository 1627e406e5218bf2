// Where a command may write. Its JSON has rules of its own (brightnet/answer.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace brightnet {

/// Makes the folder if need be (an empty path is the current one). Throws InputError when it cannot be made
/// or written to. `option` named it.
void prepare_folder(const std::filesystem::path& folder, const std::string& option);

/// Throws where prepare_folder() would, as far as that can be told without making anything: for a command that has more to
/// check before it writes.
void check_folder(const std::filesystem::path& folder, const std::string& option);

/// Throws InputError when the file exists.
void refuse_to_replace(const std::filesystem::path& file);

/// Throws InputError when an output file is also an input, even under another name.
void refuse_to_replace_inputs(const std::vector<std::filesystem::path>& written,
                              const std::vector<std::filesystem::path>& read);

/// Throws InputError when a file, which `option` named, is one of the others that are written too, whether it is there yet or
/// not.
void refuse_same_outputs(const std::filesystem::path& file, const std::string& option,
                         const std::vector<std::filesystem::path>& others);

}  // namespace brightnet
