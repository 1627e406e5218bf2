// The one file that a command's JSON answer goes to.
#pragma once

#include <string>

namespace brightnet {

/// Makes the file's folder if need be, and throws InputError when the answer cannot be written there or would
/// replace something else: a file that is there must be empty or begin as this answer does, with `beginning`.
/// "-", standard output, is always right. `option` named the file.
void check_answer_file(const std::string& file, const std::string& option, const std::string& beginning);

/// How to_text() of an object with this first key begins.
std::string answer_beginning(const std::string& first_key);

}  // namespace brightnet
