"""Mutants under test: they are compiled, linked into the test programs, and run."""
import os
import re
import shutil
import subprocess

from mutation.files import read_bytes, read_text, write_text
from mutation.mutants import place
from mutation.running import run_tests


class DoesNotCompile(Exception):
    pass


def prepare(mutant, workshop):
    """Writes the mutated file; it is found before the original by the order of include paths."""
    mutant["now"] = place(mutant, workshop.tree)
    if mutant["now"] is None:
        return False
    file, index = mutant["now"]
    lines = read_text(os.path.join(workshop.tree, file)).split("\n")
    indent = re.match(r"\s*", lines[index])[0]
    lines[index] = indent + mutant["mutant"].strip()
    mutant["overlay"] = os.path.join(workshop.folder, "mutants", mutant["id"])
    shutil.rmtree(mutant["overlay"], ignore_errors=True)
    write_text(os.path.join(mutant["overlay"], file), "\n".join(lines))
    mutant["objects"] = {}
    return True


class Laboratory:
    """Compiles mutants, links them into the test programs and runs these, in a folder of its own."""

    def __init__(self, workshop, number):
        self.workshop = workshop
        self.folder = os.path.join(workshop.folder, "laboratories", str(number))
        self.mutated = os.path.join(self.folder, "programs")  # as linked for the mutants under test
        shutil.rmtree(self.folder, ignore_errors=True)

    def compile(self, mutant, an_object):
        """The path of the mutated object file; None where it is the original's."""
        if an_object in mutant["objects"]:
            return mutant["objects"][an_object]
        workshop = self.workshop
        target = os.path.join(mutant["overlay"], "objects", an_object)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        words = list(workshop.compile_commands[an_object])
        words[words.index("-o") + 1] = target
        source = os.path.relpath(words[-1], workshop.tree)
        if source == mutant["now"][0]:
            words[-1] = os.path.join(mutant["overlay"], source)
        words.insert(words.index(f"-I{workshop.tree}"), f"-I{mutant['overlay']}")
        # As if it lay in the tree; ccache's base_dir makes paths relative.
        for here in (os.path.abspath, lambda path: os.path.relpath(path, workshop.build)):
            words.insert(1, f"-ffile-prefix-map={here(mutant['overlay'])}={here(workshop.tree)}")
        words = workshop.launcher + [word for word in words if word != "-Werror"] + ["-w"]
        done = subprocess.run(words, cwd=workshop.build, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=1200, check=False)
        if done.returncode != 0:
            raise DoesNotCompile
        if read_bytes(target) == read_bytes(os.path.join(workshop.build, an_object)):
            os.remove(target)
            target = None
        mutant["objects"][an_object] = target
        return target

    def link(self, program, mutants):
        """Links the program and those that its tests start; False where no object differs."""
        workshop = self.workshop
        objects = {}
        for mutant in mutants:
            for an_object in workshop.objects_of(program, mutant["now"][0]):
                if target := self.compile(mutant, an_object):
                    objects[an_object] = target
        if not objects:
            return False
        with_helpers = [program] + workshop.helpers[program]
        if len(with_helpers) > 1:  # the tests find those programs where this object says
            for an_object, words in workshop.compile_commands.items():
                if any("BRIGHTNET_PROGRAM=" in word for word in words):
                    objects[an_object] = self.compile_paths(an_object, words)
        for folder in (".", "tests"):  # the models beside a program (train/config/models.cpp)
            there, here = (os.path.join(root, folder, "configs") for root in (workshop.build, self.mutated))
            if os.path.exists(there) and not os.path.lexists(here):
                os.makedirs(os.path.dirname(here), exist_ok=True)
                os.symlink(os.path.realpath(there), here)
        for name in with_helpers:
            words = []
            for word in workshop.link_commands[name]:
                members = workshop.members.get(word, [])
                if objects.keys() & set(members):  # in place of a library its objects
                    words += workshop.as_library([objects.get(o, o) for o in members])
                else:
                    words.append(objects.get(word, word))
            words[words.index("-o") + 1] = os.path.join(self.mutated, name)
            os.makedirs(os.path.dirname(words[words.index("-o") + 1]), exist_ok=True)
            done = subprocess.run(words + workshop.linker, cwd=workshop.build, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, check=False)
            if done.returncode != 0:
                raise DoesNotCompile
        return True

    def compile_paths(self, an_object, words):
        workshop = self.workshop
        target = os.path.join(self.folder, "paths.o")
        if not os.path.exists(target):
            words = [word.replace(workshop.build, self.mutated) if word.startswith("-DBRIGHTNET_") else word
                     for word in words]
            words[words.index("-o") + 1] = target
            os.makedirs(os.path.dirname(target), exist_ok=True)
            subprocess.run(words, cwd=workshop.build, check=True)
        return target

    def run(self, program, tests):
        """None when all pass, else the test that does not, and how."""
        workshop = self.workshop
        tests = list(tests)
        while tests:
            normal = workshop.time_of(program, tests)
            status, test = run_tests(os.path.join(self.mutated, program), ":".join(tests), self.folder,
                                     20 + 8 * normal, 60 + 10 * normal, ["--gtest_fail_fast"])
            if status == 0:
                return None
            if test not in tests:
                return test, str(status)
            normal = workshop.time_of(program, [test])
            again, as_original = (run_tests(os.path.join(folder, program), test, self.folder, 20 + 8 * normal,
                                            60 + 10 * normal)[0] for folder in (self.mutated, workshop.build))
            if again != 0 and as_original == 0:
                return test, {"timeout": "timeout", 1: "failed"}.get(again, f"exit {again}")
            tests.remove(test)  # it fails by chance, after those before it, or without the mutant too
        return None
