#!/usr/bin/env python3
"""The guided part of scripts/fuzz, which builds the programs and starts this.

guided.py search SECONDS [TARGET...]   libFuzzer for each reader, its share of the time
guided.py keep BYTES                   chooses for tests/fuzz/corpus what reaches most of what was reached
guided.py coverage                     the lines of the readers that tests/fuzz/corpus and the seeds reach
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

os.environ["LLVM_PROFILE_FILE"] = "/dev/null"  # where nothing is measured

BUILD = pathlib.Path("build/guided")
PROGRAM = BUILD / "tests/guided_program"
FOLDER = pathlib.Path("build/fuzz")
TREE = pathlib.Path("tests/fuzz/corpus")
LLVM = "16"
# Many findings of one reader are mostly one fault.
MOST_FINDINGS = 5
LIMITS = ["-timeout=20", "-rss_limit_mb=2560", "-malloc_limit_mb=1024"]
# One input may hold this much more than the largest seed.
SPARE_BYTES = 2048

# What a file must reach that no other one does to be kept in the tree.
LEAST_GAIN = 3

# What counts as a reader: the files, and in them the functions that only write, by the words in their names.
READERS = """
core/config.cpp core/text.cpp core/input_size.cpp
data/fold.cpp data/formats/*.cpp
data/image/header.cpp data/image/jpeg.cpp data/image/read_image.cpp data/image/stored_file.cpp
formats/safetensors.cpp formats/weights.cpp formats/quantization_json.cpp formats/foreign_weights.cpp
formats/download/published_weights.cpp
formats/darknet/cfg.cpp formats/darknet/head.cpp formats/darknet/import.cpp formats/darknet/layers.cpp
formats/darknet/recipe.cpp formats/darknet/sections.cpp formats/darknet/spp.cpp formats/darknet/trained.cpp
formats/darknet/weights.cpp
formats/onnx/metadata.cpp
layers/model/block_numbers.cpp layers/model/builder.cpp layers/model/head_options.cpp layers/model/layer_kinds.cpp
layers/model/model.cpp layers/model/quantization.cpp layers/model/reader.cpp
detect/evaluate/metrics_json.cpp detect/outputs/coco_ids.cpp detect/outputs/written_files.cpp
train/config/config.cpp train/config/fields.cpp train/config/models.cpp
train/report/metrics_csv.cpp train/run/checkpoint.cpp tune/search_folder.cpp
tune/trial.cpp
"""
WRITERS = ["to_json", "write_", "save_", "to_properties", "range_to_json", "csv_quoted", "config_keys",
           "ImageRows", "CocoPart", "CategoryUnion", "MetricsCsv::", "header_line", "row_line",
           r"anonymous namespace\)::quoted", "differing_values", "::assignments", "SearchFolder::(run|log)",
           "WrittenFiles::(write|note|begin|put)", "FieldPrinter::", "enumerated",
           # names what a state is of, from the model
           "describe_layout",
           # entries of the list of formats, which is made before anything is read
           "[a-z]_format[^a-z]"]


def targets():
    listed = subprocess.run([BUILD / "tests/fuzz_program", "--list"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


class Reader:
    """One reader, its folders, and libFuzzer on it."""

    def __init__(self, name):
        self.name = name
        self.seeds = FOLDER / "seeds" / name
        self.corpus = FOLDER / "corpus" / name
        self.tree = TREE / name
        self.corpus.mkdir(parents=True, exist_ok=True)
        subprocess.run([BUILD / "tests/fuzz_program", name, "--seeds", self.seeds], check=True)
        self.largest = max(file.stat().st_size for folder in self.folders() for file in folder.iterdir())

    def folders(self):
        return [folder for folder in (self.seeds, self.tree) if folder.is_dir()]

    def run(self, *arguments, profile="/dev/null"):
        """libFuzzer with these arguments: its exit code and what it says."""
        with tempfile.TemporaryDirectory(prefix="brightnet-fuzz-", dir="/dev/shm") as scratch:
            environment = os.environ | {
                "BRIGHTNET_FUZZ_TARGET": self.name,
                "BRIGHTNET_FUZZ_FOLDER": scratch,
                "BRIGHTNET_SOURCE_DIR": os.getcwd(),
                "LLVM_PROFILE_FILE": str(profile),
                "OMP_NUM_THREADS": "1",
                # Libraries behind OpenCV leak at their end.
                "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=0",
                "UBSAN_OPTIONS": "print_stacktrace=1",
            }
            done = subprocess.run([PROGRAM, *map(str, arguments)], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace")
        return done.returncode, done.stdout

    def search(self, seconds):
        """Goes on from what was found before; the number of inputs, inputs a second, edges, and findings."""
        inputs, edges, findings, took = 0, 0, [], 0
        log = open(FOLDER / f"{self.name}.guided.log", "w")
        while took < seconds and len(findings) < MOST_FINDINGS:
            left = max(1, int(seconds - took))
            code, said = self.run(self.corpus, *self.folders(), f"-dict={self.seeds}.dict",
                                  f"-max_len={self.largest + SPARE_BYTES}", f"-max_total_time={left}",
                                  f"-artifact_prefix={FOLDER}/{self.name}-", "-print_final_stats=1", *LIMITS)
            log.write(said)
            log.flush()
            executed = [int(n) for n in re.findall(r"^stat::number_of_executed_units: *(\d+)", said, re.M)]
            counts = [int(n) for n in re.findall(r"^#(\d+)\t", said, re.M)]
            inputs += executed[-1] if executed else counts[-1] if counts else 0
            edges = max([edges, *(int(n) for n in re.findall(r" cov: (\d+)", said))])
            runs = re.findall(r"^Done \d+ runs in (\d+) second", said, re.M)
            if code == 0 and runs:
                took += max(1, int(runs[-1]))
                break
            artifact = re.findall(r"Test unit written to (\S+)", said)
            if not artifact:
                print(f"{self.name}: the search ended with exit code {code}; see {log.name}")
                findings.append("")
                break
            findings.append(artifact[-1])
            print(f"{artifact[-1]}: {reason(said)}\n  repeat it with: BRIGHTNET_FUZZ_TARGET={self.name} {PROGRAM} "
                  f"{artifact[-1]}", flush=True)
            took += max(1, int(executed[-1] / max(1, rate(said))) if executed else 1)
        self.minimise()
        return inputs, inputs / max(1, took), edges, len(findings)

    def minimise(self):
        """Leaves those of what was found that reach what no smaller one does."""
        smaller = self.corpus.with_suffix(".smaller")
        shutil.rmtree(smaller, ignore_errors=True)
        smaller.mkdir()
        code, _ = self.run("-merge=1", smaller, self.corpus, *LIMITS)
        if code != 0 or not any(smaller.iterdir()):
            shutil.rmtree(smaller)
            return
        shutil.rmtree(self.corpus)
        smaller.rename(self.corpus)

    def reached(self):
        """What each file of the corpus and the tree reaches, as numbers of libFuzzer's; and what the seeds do."""
        with tempfile.TemporaryDirectory() as folder:
            control, out = pathlib.Path(folder) / "control", pathlib.Path(folder) / "out"
            out.mkdir()
            self.run("-set_cover_merge=1", "-use_counters=0", f"-merge_control_file={control}", out, self.corpus,
                     *self.folders(), *LIMITS)
            lines = control.read_text().splitlines()
        count = int(lines[0])
        files = lines[2:2 + count]
        reached = {}
        for line in lines[2 + count:]:
            kind, number, *rest = line.split()
            if kind == "FT":
                reached[pathlib.Path(files[int(number)])] = {int(feature) for feature in rest}
        seeds = set()
        for file in [file for file in reached if self.seeds in file.parents]:
            seeds |= reached.pop(file)
        return reached, seeds


def rate(said):
    found = re.findall(r"^stat::average_exec_per_sec: *(\d+)", said, re.M)
    return int(found[-1]) if found else 1


def reason(said):
    for pattern in (r"runtime error: .*", r"not an InputError: .*", r"ERROR: (?:AddressSanitizer|libFuzzer): .*"):
        found = re.search(pattern, said)
        if found:
            return found.group(0)
    return "it did not end"


def search(seconds, names):
    names = names or targets()
    print(f"{'reader':<12} {'inputs':>12} {'inputs/s':>9} {'edges':>7} {'findings':>8}")
    found, total = 0, 0
    for name in names:
        inputs, speed, edges, findings = Reader(name).search(seconds / len(names))
        print(f"{name:<12} {inputs:>12,} {speed:>9,.0f} {edges:>7,} {findings:>8}", flush=True)
        found, total = found + findings, total + inputs
    print(f"{'total':<12} {total:>12,} {'':>17} {found:>8}")
    return 1 if found else 0


def keep(most_bytes):
    """The few files that reach most for their bytes; edges of libraries' headers are the same for all readers."""
    candidates, have = [], set()
    for name in targets():
        reached, seeds = Reader(name).reached()
        have |= seeds
        candidates += [(name, file, features) for file, features in reached.items()
                       if file.stat().st_size <= 20_000]
    chosen, spent = [], 0
    while True:
        def gain(candidate):
            return len(candidate[2] - have) / (200 + candidate[1].stat().st_size)
        candidates = [candidate for candidate in candidates if candidate[2] - have]
        best = max(candidates, key=gain, default=None)
        if best is None or spent + best[1].stat().st_size > most_bytes or len(best[2] - have) < LEAST_GAIN:
            break
        chosen.append((best[0], best[1].read_bytes()))
        spent += best[1].stat().st_size
        have |= best[2]
    shutil.rmtree(TREE, ignore_errors=True)
    for name, content in chosen:
        folder = TREE / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(content).hexdigest()[:12]).write_bytes(content)
    print(f"{len(chosen)} files of {spent:,} bytes are in {TREE}")


def coverage():
    profiles = FOLDER / "profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    profiles.mkdir(parents=True)
    for name in targets():
        reader = Reader(name)
        code, said = reader.run("-runs=0", *reader.folders(), *LIMITS, profile=(profiles / f"{name}.profraw").absolute())
        if code != 0:
            print(f"{name}: {reason(said)}")
            return 1
    merged = profiles / "all.profdata"
    subprocess.run([f"llvm-profdata-{LLVM}", "merge", "-sparse", "-o", merged, *profiles.glob("*.profraw")], check=True)
    files = sorted(str(file) for pattern in READERS.split() for file in pathlib.Path().glob(pattern))
    export = [f"llvm-cov-{LLVM}", "export", PROGRAM, f"-instr-profile={merged}"]
    lcov = subprocess.run([*export, "-format=lcov", *map(os.path.abspath, files)], capture_output=True, text=True, check=True).stdout
    lines = {}
    for record in lcov.split("end_of_record"):
        source = re.search(r"^SF:(.*)", record, re.M)
        if source:
            counts = {int(n): int(c) for n, c in re.findall(r"^DA:(\d+),(\d+)", record, re.M)}
            lines[os.path.relpath(source.group(1))] = counts
    for file, written in written_lines(export, files).items():
        for line in written:
            lines.get(file, {}).pop(line, None)
    total, total_reached = 0, 0
    print(f"{'reader':<44} {'lines':>6} {'reached':>8} {'percent':>8}")
    for file in files:
        counts = lines.get(file, {})
        reached = sum(1 for count in counts.values() if count)
        if "--missing" in sys.argv:
            print(file, *(line for line, count in sorted(counts.items()) if not count))
        if counts:
            print(f"{file:<44} {len(counts):>6} {reached:>8} {100 * reached / len(counts):>8.1f}")
        total, total_reached = total + len(counts), total_reached + reached
    print(f"{'total':<44} {total:>6} {total_reached:>8} {100 * total_reached / total:>8.1f}")
    return 0


def written_lines(export, files):
    """The lines of the functions that only write."""
    lines = {}
    if not WRITERS:
        return lines
    said = subprocess.run([*export, *map(os.path.abspath, files)], capture_output=True, text=True, check=True).stdout
    functions = json.loads(said)["data"][0]["functions"]
    names = subprocess.run([f"llvm-cxxfilt-{LLVM}"], input="\n".join(f["name"].split(":")[-1] for f in functions),
                           capture_output=True, text=True, check=True).stdout.splitlines()
    for function, name in zip(functions, names):
        if not re.search("|".join(WRITERS), name):
            continue
        begin, end = function["regions"][0][0], function["regions"][0][2]
        lines.setdefault(os.path.relpath(function["filenames"][0]), set()).update(range(begin, end + 1))
    return lines


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "search":
        sys.exit(search(float(rest[0]), rest[1:]))
    sys.exit(keep(int(rest[0])) if command == "keep" else coverage())
