// Protects existing files from being replaced by a command's JSON output.
#pragma once

#include <string>

namespace brightnet {

/// Creates the file's folder if necessary, and throws InputError when the file cannot be written or would
/// replace another kind of file: an existing one must be empty or begin with `beginning`. "-", standard
/// output, is always accepted. `option` named the file.
void check_answer_file(const std::string& file, const std::string& option, const std::string& beginning);

/// How to_text() of an object with this first key begins.
std::string answer_beginning(const std::string& first_key);

}  // namespace brightnet
