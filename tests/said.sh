# shellcheck shell=bash
# For scripts that give commands and check what they print.

# unsaid "WORD|WORD…" FILE: what is wrong with a file that must have each word, and must not have those of `!word`.
unsaid() {
  local word
  local -a all
  IFS='|' read -ra all <<<"$1"
  for word in "${all[@]}"; do
    if [[ $word == !* ]]; then
      grep -qF -- "${word#!}" "$2" && printf "; it says '%s'" "${word#!}"
    else
      grep -qF -- "$word" "$2" || printf "; it does not say '%s'" "$word"
    fi
  done
}
