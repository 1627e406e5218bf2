// brightnet completion: scripts by which a shell completes brightnet's words. A script asks the program, which answers from
// its own commands and options, so that no shell has a list of them.
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/complete_words.h"

namespace brightnet::cli {
namespace {

/// A line a word, "WORD<tab>ABOUT", then ":files" where files are completed as well.
void print_words(const CLI::App& app, const std::vector<std::string>& words) {
  const Completion found = complete(app, words);
  for (const auto& [word, about] : found.words)
    std::cout << word << (about.empty() ? "" : "\t" + about) << '\n';
  if (found.files) std::cout << ":files\n";
}

constexpr const char* bash_script = R"(# bash completion of brightnet, written by `brightnet completion bash`
_brightnet() {
  # bash also breaks words at = and :, which are parts of brightnet's.
  local words=() i part glued= line
  for ((i = 1; i <= COMP_CWORD; i++)); do
    part=${COMP_WORDS[i]}
    if [[ ${#words[@]} -gt 0 && ( -n $glued || $part == [=:]* ) ]]; then
      words[${#words[@]}-1]+=$part
    else
      words+=("$part")
    fi
    if [[ $part == *[=:] ]]; then glued=yes; else glued=; fi
  done
  local whole=${words[${#words[@]}-1]} own=${COMP_WORDS[COMP_CWORD]}
  [[ $own == [=:] ]] && own=
  local before=${whole%"$own"}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$own")
    else
      line=${line%%$'\t'*}
      COMPREPLY+=("${line#"$before"}")
    fi
  done < <("${1/#\~/$HOME}" completion bash -- "${words[@]}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _brightnet brightnet
)";

constexpr const char* zsh_script = R"(#compdef brightnet
# zsh completion of brightnet, written by `brightnet completion zsh`
_brightnet() {
  local line word
  local -a whole begun whole_about begun_about
  local files=
  for line in "${(@f)$(${~words[1]} completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*}
    case $word in
      '') ;;
      :files) files=yes ;;
      *=) begun+=("$word") begun_about+=("${line/$'\t'/  -- }") ;;
      *) whole+=("$word") whole_about+=("${line/$'\t'/  -- }") ;;
    esac
  done
  (( $#whole )) && compadd -l -d whole_about -a whole
  (( $#begun )) && compadd -S '' -l -d begun_about -a begun
  if [[ -n $files ]]; then
    compset -P '--*='
    _files
  fi
}
if [[ $funcstack[1] == _brightnet ]]; then _brightnet "$@"; else compdef _brightnet brightnet; fi
)";

constexpr const char* fish_script = R"(# fish completion of brightnet, written by `brightnet completion fish`
function __brightnet_words
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] completion fish -- $words[2..-1] 2>/dev/null)
        if test $line = :files
            set -l option (string match -r '^--[^=]*=' -- $words[-1])
            for file in (__fish_complete_path (string replace -- "$option" '' $words[-1]))
                echo "$option$file"
            end
        else
            echo $line
        end
    end
end
complete -c brightnet -f -a '(__brightnet_words)'
)";

void print_script(const std::string& shell) {
  std::cout << (shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : fish_script);
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("completion", "print a script that completes brightnet's words in a shell");
  const auto shell = std::make_shared<std::string>();
  const auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}))
      ->required();
  command->add_option(
      "words", *words,
      "instead: what completes the last of these words of a command line, as the script asks");
  command->callback([&app, &action, shell, words] {
    action = [&app, shell, words] {
      words->empty() ? print_script(*shell) : print_words(app, *words);
      return 0;
    };
  });
}

}  // namespace brightnet::cli
