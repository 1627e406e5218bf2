"""What can be mutated: the mutants of a file, those that surely do not compile, and the order in which they are drawn."""
import collections
import contextlib
import glob
import hashlib
import io
import os
import random
import re

from mutation.files import read_text

FLOORS = ["core", "data", "layers", "kernels/cpu", "kernels/math", "formats", "detect", "train", "tune", "bench", "brightnet",
          "cli"]
RULES = ["universal.rules", "c_like.rules", "cpp.rules"]

TOKEN = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
                   r"|//[^\n]*|/\*(?:.|\n)*?\*/")


def code_lines(text):
    """The lines of a file without comments, #include and #pragma; their number stays."""
    def blank(match):
        token = match.group()
        return re.sub(r"[^\n]", "", token) if token.startswith("/") else token

    lines = [line.rstrip() for line in TOKEN.sub(blank, text).split("\n")]
    return ["" if re.match(r"\s*#\s*(include|pragma)", line) else line for line in lines]


def literals(line):
    """The line with its string literals emptied, and the literals."""
    found = []
    code = re.sub(r'"(?:\\.|[^"\\])*"', lambda match: found.append(match.group()) or '""', line)
    return code, found


def changes_only_words(lines, index, mutated):
    before, after = literals(lines[index]), literals(mutated)
    if before[0] != after[0]:
        return False
    start = index
    while start > 0 and lines[start - 1].strip() and not re.search(r"[;{}]$", lines[start - 1]):
        start -= 1
    if re.search(r"log::|BRIGHTNET_CHECK", "\n".join(lines[start:index + 1])):
        return True
    return all(" " in a for a, b in zip(before[1], after[1]) if a != b)


def in_a_loop(lines, index):
    """By the indentation: does the line stand inside a loop or a switch?"""
    column = len(lines[index]) - len(lines[index].lstrip())
    for line in reversed(lines[:index]):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < column and not re.match(r" *(public|private|case\b.*|default):", line):
            column = indent
            if re.match(r" *(for|while|switch|do)\b", line):
                return True
    return False


def operator_fits(line, at, replacement):
    """May the operator at line[at] become `replacement`? By the blanks that clang-format sets around binary ones."""
    operator = line[at]
    binary = line[at - 1:at] == " " and line[at + 1:at + 2] in (" ", "")
    if operator in "+-" and line[at + 1:at + 2] == operator or line[at - 1:at] == operator:
        return replacement in ("++", "--") or len(replacement) != 1
    if operator == "-" and not binary and line[at + 1:at + 2] != "=":
        return replacement in ("+", "")
    if operator == "+" and replacement != "+" and re.search(r'"|string\(', line):
        return not re.search(r'("|\)) \+( |$)|\+ ("|std::to_string)', line)
    return binary or line[at + 1:at + 2] == "=" and operator not in "<>"


def may_compile(lines, index, mutated, lhs, rhs, words):
    """False for what surely does not compile; it would be drawn, compiled and replaced."""
    line = lines[index]
    if re.match(r" *(namespace|using|template|class|struct|enum|public:|private:|#)", line):
        return False
    if re.search(r" (break|continue);$", mutated) and not line.endswith(("break;", "continue;")):
        return line.endswith((";", "{", "}")) and in_a_loop(lines, index)
    if mutated.lstrip().startswith("/*"):
        whole = all(line.count(a) == line.count(b) for a, b in ("()", "{}", "[]"))
        if not whole or re.search(r"[^;}]$|(0|override);$", line):
            return False
        declared = re.match(r" *(?:(?:const|static|constexpr) )*[\w:]+(?:<.*>)?[&*]* (\w+)(;| = |\(|\{)", line)
        return not declared or words[declared[1]] < 2 or re.match(r" *return\b", line) is not None
    known = set(words) | {"min", "max", "begin", "end", "break", "continue"}
    if not set(re.findall(r"[A-Za-z_]\w*", mutated)) <= known:
        return False
    if ") = 0;" in line or "const = 0;" in line:
        return False
    at = lhs.search(line)
    while at and line[:at.start()] + lhs.sub(rhs, line[at.start():], count=1).rstrip("\n") != mutated:
        at = lhs.search(line, at.start() + 1)
    if at and lhs.pattern.startswith(r"(\D)(\d+)"):
        before, after = at[1], at[3]
        plain = re.fullmatch(r"\\g<1>\d\\3", rhs)
        return not re.match(r"[\w]", before) and (plain or before != ".") and (after != "." or "(" not in rhs)
    if at and lhs.pattern in (r"\+", r"-([^>])", r"\*", r"([^\*/])/([^\*/])", "%", "<", r"([^-])>", r"([^&])&([^&])",
                              r"([^|])\|([^|])"):
        return operator_fits(line, at.start() + lhs.pattern.startswith("([^"), re.sub(r"\\\d", "", rhs))
    return True


def is_vain(mutant):
    """Two parameters of a prototype exchanged: the definition says what they are. Or half of a pair of brackets."""
    before, after = mutant["original"], mutant["mutant"]
    prototype = re.match(r" *(?!return|throw|else)[\w:<>,&* ]+[ &*]\w+\(.*[,;]$", before)
    exchanged = sorted(before.replace(" ", "")) == sorted(after.replace(" ", ""))
    return mutant["file"].endswith(".h") and bool(prototype) and exchanged or any(
        before.count(a) - before.count(b) != after.count(a) - after.count(b) for a, b in ("()", "{}", "[]"))


def mutants_of_file(name, text, mutator):
    """{line number: its mutants}; a mutant that adds a statement adds it on the same line."""
    lines = code_lines(text)
    with contextlib.redirect_stdout(io.StringIO()):
        found = mutator.mutants_regexp([line + "\n" for line in lines], ruleFiles=RULES, ignorePatterns=[])
    result = {}
    words = collections.Counter(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))
    for number, mutated, _, (lhs, rhs) in found:
        mutated = re.sub(r"\n\s*", " ", mutated.rstrip())
        same = re.sub(r"\s+", "", mutated) == re.sub(r"\s+", "", lines[number - 1])
        if not same and not changes_only_words(lines, number - 1, mutated) \
                and may_compile(lines, number - 1, mutated, lhs, rhs, words):
            key = hashlib.sha256(f"{name}:{number}:{mutated}".encode()).hexdigest()[:8]
            result.setdefault(number, {})[mutated] = {"id": key, "file": name, "line": number,
                                                      "original": lines[number - 1], "mutant": mutated}
    return {number: list(mutants.values()) for number, mutants in result.items()}


def draw(tree, seed, mutator):
    """All mutants in the order in which they are drawn: lines in random order, one mutant each; then again."""
    chance = random.Random(seed)
    lines = []
    for floor in FLOORS:
        for folder, folders, files in sorted(os.walk(os.path.join(tree, floor))):
            folders.sort()
            for file in sorted(files):
                if file.endswith((".cpp", ".h")):
                    path = os.path.join(folder, file)
                    found = mutants_of_file(os.path.relpath(path, tree), read_text(path), mutator)
                    lines += [found[number] for number in sorted(found)]
    order = []
    for mutants in lines:
        chance.shuffle(mutants)
    while lines:
        chance.shuffle(lines)
        order += [mutants.pop() for mutants in lines]
        lines = [mutants for mutants in lines if mutants]
    return [mutant for mutant in order if not is_vain(mutant)]


def place(mutant, tree):
    """The file and the line (from 0) where the mutant's original line is now: files move, lines shift. Or None."""
    files = [os.path.join(tree, mutant["file"])]
    if not os.path.exists(files[0]):
        floor = next(floor for floor in FLOORS if mutant["file"].startswith(floor + "/"))
        files = glob.glob(os.path.join(tree, floor, "**", os.path.basename(mutant["file"])), recursive=True)
    for file in files:
        lines = code_lines(read_text(file))
        there = [i for i, line in enumerate(lines) if line.strip() == mutant["original"].strip()]
        if there:
            return os.path.relpath(file, tree), min(there, key=lambda i: abs(i + 1 - mutant["line"]))
    return None
