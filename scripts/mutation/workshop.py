"""The copy of the tree, its build, and its tests."""
import contextlib
import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

from mutation.files import output_of, read_bytes, read_text, say, write_text
from mutation.running import run_tests

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHEAP = [f"{part}_tests" for part in ("core", "kernels", "data", "layers", "formats", "detect", "train", "tune", "bench",
                                      "brightnet", "cli")]
PROGRAMS = CHEAP + ["end_to_end_tests", "emulated_tests", "distributed_tests"]  # in the order in which they are run
LONG = 2.0  # seconds that a test takes before it counts as a long one


class Workshop:
    """The copy of the tree in `folder`, built, and what is known of its objects and programs."""

    def __init__(self, folder):
        self.folder = folder
        self.tree = os.path.join(folder, "tree")
        self.build = os.path.join(self.tree, "build", "release")  # as deep as elsewhere, for ccache
        self.measured = {}
        self.baseline_file = os.path.join(folder, "baseline.json")

    def mutator(self):
        venv = os.path.join(self.folder, "venv")
        if not glob.glob(os.path.join(venv, "lib/python*/site-packages/universalmutator")):
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            subprocess.run([os.path.join(venv, "bin/pip"), "install", "--quiet", "universalmutator"], check=True)
        sys.path.insert(0, glob.glob(os.path.join(venv, "lib/python*/site-packages"))[0])
        from universalmutator import mutator
        return mutator

    def copy(self):
        """Makes the copy what the working copy is now, and touches only what differs."""
        listing = output_of(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT)
        wanted = {name for name in listing.split("\0") if name and os.path.isfile(os.path.join(ROOT, name))}
        for folder, folders, files in os.walk(self.tree):
            if folder == self.tree and "build" in folders:
                folders.remove("build")
            for file in files:
                path = os.path.join(folder, file)
                if os.path.relpath(path, self.tree) not in wanted:
                    os.remove(path)
        for name in wanted:
            source, target = os.path.join(ROOT, name), os.path.join(self.tree, name)
            if not os.path.exists(target) or read_bytes(source) != read_bytes(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)
        shared, link = os.path.join(ROOT, "..", "shared"), os.path.join(self.folder, "shared")
        if os.path.isdir(shared) and not os.path.lexists(link):  # further material of some tests
            os.symlink(os.path.realpath(shared), link)
        cuda, link = os.path.join(ROOT, ".cuda"), os.path.join(self.tree, ".cuda")
        if os.path.isdir(cuda) and not os.path.lexists(link):  # of scripts/setup: some tests need the CUDA backend
            os.symlink(os.path.realpath(cuda), link)

    def make(self):
        # A file by itself: the object of a mutant is that of its file. Again where a version before has configured it.
        subprocess.run(["cmake", "-G", "Ninja", "-S", self.tree, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release",
                        "-DBRIGHTNET_UNITY_BUILD=OFF", "-DBRIGHTNET_CUDA_ARCHITECTURES=90"], check=True,
                       stdout=subprocess.DEVNULL)
        rules = output_of(["ninja", "-C", self.build, "-t", "targets", "all"], self.folder)
        programs = re.findall(r"^(\S+): CXX_EXECUTABLE_LINKER_", rules, re.M)
        programs = [name for name in programs if not re.search(r"gpu_tests|benchmarks|\.cmake$", name)]
        subprocess.run(["ninja", "-C", self.build, "-j1", "--quiet"] + programs, check=True)
        self.read_build(rules, programs)

    def read_build(self, rules, programs):
        self.compile_commands = {}
        for entry in json.loads(read_text(os.path.join(self.build, "compile_commands.json"))):
            words = shlex.split(entry["command"])
            self.compile_commands[words[words.index("-o") + 1]] = words
        ccache = re.search(r"^CCACHE:FILEPATH=(/.*)$", read_text(os.path.join(self.build, "CMakeCache.txt")), re.M)
        self.linker = ["-fuse-ld=lld"] if shutil.which("ld.lld") else []
        self.launcher = [ccache[1]] if ccache else []
        self.members = {}  # {library: its objects}
        for library in re.findall(r"^(\S+\.a): CXX_STATIC_LIBRARY_LINKER_", rules, re.M):
            query = output_of(["ninja", "-C", self.build, "-t", "query", library], self.folder)
            inputs = query.split("\n  outputs:")[0]
            self.members[library] = [line.strip() for line in inputs.split("\n") if line.endswith(".o")]
        self.dependents = {}  # {file of the tree: the objects compiled from it}
        of = None
        for line in output_of(["ninja", "-C", self.build, "-t", "deps"], self.folder).split("\n"):
            if line and not line.startswith(" "):
                of = line.split(": #deps")[0]
            elif line:
                path = os.path.relpath(os.path.join(self.build, line.strip()), self.tree)
                if not path.startswith(".."):
                    self.dependents.setdefault(path, set()).add(of)
        self.link_commands, self.helpers = {}, {}
        for program in programs:
            commands = output_of(["ninja", "-C", self.build, "-t", "commands", program], self.folder)
            parts = commands.strip().split("\n")[-1].split(" && ")
            self.link_commands[program] = shlex.split(next(part for part in parts if f" -o {program} " in part))
            needs = output_of(["ninja", "-C", self.build, "-t", "query", program], self.folder)
            self.helpers[program] = [name for name in re.findall(r"\|\| (\S+)", needs) if name in programs]
        self.test_programs = [name for name in programs if name.endswith("_tests")]

    def measure_all(self):
        """Before mutants keep the machine busy."""
        for program in self.test_programs:
            if os.path.basename(program) in PROGRAMS:
                self.times(program)

    def uses(self, program, an_object):
        """Is the object linked into the program, directly or from a floor's library?"""
        command = self.link_commands[program]
        return an_object in command or any(an_object in self.members.get(word, ()) for word in command)

    def as_library(self, objects):
        return ["-Wl,--start-lib", *objects, "-Wl,--end-lib"] if self.linker else objects

    def objects_of(self, program, file):
        programs = [program] + self.helpers[program]
        # nvcc's objects stay as they are: a header's code for the host comes from the mutated objects, which are linked first.
        found = {o for o in self.dependents.get(file, ()) if not o.endswith(".cu.o") and any(self.uses(p, o) for p in programs)}
        return sorted(found, key=lambda o: (o.startswith("tests/"), o))

    def times(self, program):
        """{test: seconds}, measured once, for the limits and the order; without those that fail anyway."""
        if program not in self.measured:
            programs = [os.path.join(self.build, p) for p in [program] + self.helpers[program]]
            stamp = hashlib.sha256(b"".join(read_bytes(p) for p in programs)).hexdigest()
            known = json.loads(read_text(self.baseline_file)) if os.path.exists(self.baseline_file) else {}
            if known.get(program, {}).get("program") != stamp:
                known[program] = {"program": stamp, "tests": self.measure(program)}
                write_text(self.baseline_file, json.dumps(known, indent=1))
            self.measured[program] = known[program]["tests"]
        return self.measured[program]

    def measure(self, program):
        say(f"measuring {program}")
        report = os.path.join(self.folder, "report.json")
        with contextlib.suppress(FileNotFoundError):
            os.remove(report)
        status, test = run_tests(os.path.join(self.build, program), "*-Slow*:*/Slow*", self.folder, 3600, 3600,
                                 [f"--gtest_output=json:{report}"])
        if not os.path.exists(report):
            sys.exit(f"{program} ended with status {status} in {test}, without a mutant: its output is in "
                     f"{os.path.join(self.folder, 'test.log')}. Mend that test, or call again if it is a rare failure.")
        tests, broken = {}, []
        for suite in json.loads(read_text(report))["testsuites"]:
            for test in suite["testsuite"]:
                name = f"{suite['name']}.{test['name']}"
                if test.get("failures"):
                    broken.append(name)
                elif test["result"] == "COMPLETED":
                    tests[name] = float(test["time"].rstrip("s"))
        say(f"  {len(tests)} tests, {sum(tests.values()):.0f} s")
        if broken:
            say(f"  left out, they fail without a mutant: {' '.join(broken)}")
        return tests

    def batches(self, file, programs):
        """Yields (program, tests): the whole suite in the order in which it is run for a mutant of `file`."""
        floor = file.split("/")[0] + "_tests"
        concerned = [p for p in self.test_programs if os.path.basename(p) in programs and self.objects_of(p, file)]
        concerned.sort(key=lambda p: (os.path.basename(p) != floor, PROGRAMS.index(os.path.basename(p))))
        related = self.suites_about(file)
        for program in concerned[:1]:
            times = self.times(program)
            about = [t for t in times if t.split(".")[0].split("/")[-1] in related]
            yield program, [t for t in about if times[t] < LONG]
            yield program, [t for t in times if times[t] < LONG and t not in about]
            yield program, [t for t in about if times[t] >= LONG]
            yield program, [t for t in times if times[t] >= LONG and t not in about]
        for program in concerned[1:]:
            yield program, [t for t, time in self.times(program).items() if time < LONG]
        for program in concerned[1:]:
            yield program, [t for t, time in self.times(program).items() if time >= LONG]

    def suites_about(self, file):
        header = re.sub(r"\.cpp$", ".h", file)
        suites = set()
        for path in glob.glob(os.path.join(self.tree, "tests", "**", "*.cpp"), recursive=True):
            text = read_text(path)
            mirror = os.path.basename(path) == os.path.basename(header)[:-2] + "_test.cpp"
            if mirror or f'#include "{header}"' in text:
                suites.update(re.findall(r"^TEST(?:_[FP])?\((\w+),", text, re.M))
        return suites

    def time_of(self, program, tests):
        return sum(self.times(program)[t] for t in tests)
