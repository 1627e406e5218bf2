// What a command answers with, and the file that it writes it to.
#pragma once

#include <string>

#include "brightnet/public.h"

namespace brightnet {

/// What a call found, in two forms: tables for a person, and JSON for a program (docs/json.md).
struct Answer {
  std::string text = {}, json = {};
};

/// Creates nothing. Throws InputError when the file cannot be written, as far as can be told, or would replace another kind of
/// file: an existing one must be empty or begin with `beginning`. "-", standard output, is always accepted.
/// `option` named the file.
BRIGHTNET_PUBLIC void check_answer_file(const std::string& file, const std::string& option,
                                        const std::string& beginning);

/// How the JSON of an answer with this first key begins.
BRIGHTNET_PUBLIC std::string answer_beginning(const std::string& first_key);

/// Writes an answer's JSON atomically, in the place of nothing but an earlier one with the same first key.
BRIGHTNET_PUBLIC void write_answer_file(const std::string& file, const std::string& option,
                                        const std::string& json);

}  // namespace brightnet
