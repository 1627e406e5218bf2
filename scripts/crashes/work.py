"""The commands whose crashes are tried, the folders that they work in, and what must hold of what they leave."""
import concurrent.futures
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import threading

from crashes.recording import Contents

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NET = """name: net
input: {size: 32, channels: 3}
activation: leaky
layers:
  - conv: {filters: 8, size: 3, stride: 4}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
head: {anchors: [[8, 8], [14, 14]]}
"""
CFG = """[net]
width=32
height=32
channels=3
[convolutional]
filters=14
size=3
stride=8
pad=1
activation=linear
[yolo]
mask=0,1
anchors=8,8, 14,14
classes=2
num=2
"""


class Command:
    """A command in the folder `work`, and how one goes on after a crash of it."""

    def __init__(self, words, written, again=None, begun=(), result=(), refuses=False, stated=()):
        self.words = words      # of brightnet
        self.written = written  # the folder, below `work`, whose files are looked at
        self.again = again      # of brightnet, after a crash; None: the same words, and all files are the result
        self.begun = begun      # files with which `again` must go on; without them the user starts anew
        self.result = result    # files that must have the same contents as without a crash
        self.refuses = refuses  # to replace what is there, or what a power failure has taken from its list of files: the
                                # user removes it
        self.stated = stated    # files of `result` that may be others where the command has warned of a failing call


def run_of(*settings, epochs=3, words=()):
    # Without a name a run has that of the folder that it is called in, and its weights have it with them.
    return ["train", "--model", "net.yaml", "--data", "data", *words, "--set", "name=tried", "train.size=32", "train.batch=4",
            "train.precision=fp32", "train.grow=0", "train.patience=0", "train.save_every=0", "loader.workers=1",
            "train.log_every=1000", f"train.epochs={epochs}", *settings, "--out", "runs/a"]


def training(*settings, epochs=3, words=(), best=False, again=()):
    result = ["runs/a/weights/last.safetensors"] + (["runs/a/weights/best.safetensors"] if best else [])
    return Command(run_of(*settings, epochs=epochs, words=words), "runs", ["train", "--resume", "runs/a", *again],
                   ["runs/a/config.yaml", "runs/a/model.yaml"], result)


COMMANDS = {
    "train": training("train.average=0", "evaluate.every=1000"),
    "kept": training("train.average=2", "evaluate.every=1", best=True),
    "fold": training("train.average=0", "evaluate.every=1000", words=["--fold", "1/3"]),
    "ranks": training("train.average=0", "evaluate.every=1000", words=["--ranks", "2"], again=["--ranks", "2"]),
    "tune": Command(["tune", *run_of(epochs=1)[1:-2], "--trials", "2", "--keys", "optimizer.rate", "--out",
                     "tuned"], "tuned", ["tune", "--resume", "tuned", "--trials", "2"], ["tuned/state/search.json"],
                    ["tuned/config.yaml", "tuned/trials/0000/weights/best.safetensors", "tuned/trials.csv"],
                    stated=["tuned/trials.csv"]),
    "onnx": Command(["export", "--weights", "base.safetensors", "--format", "onnx", "--out", "out/net.onnx"], "out"),
    "darknet": Command(["export", "--weights", "base.safetensors", "--format", "darknet", "--out", "out/net"], "out",
                       refuses=True),
    "safetensors": Command(["export", "--weights", "base.safetensors", "--format", "safetensors", "--out",
                            "new/out/net.safetensors"], "new", refuses=True),
    "import": Command(["import", "--cfg", "net.cfg", "--out", "out/net.yaml"], "out", refuses=True),
    "yolo": Command(["data", "convert", "data", "--to", "yolo", "--copy", "--out", "new/out"], "new", refuses=True),
    "coco": Command(["data", "convert", "data", "--to", "coco", "--out", "new/out"], "new", refuses=True),
    "split": Command(["data", "split", "data", "--out", "new/out"], "new", refuses=True),
    "shard": Command(["data", "shard", "data", "--out", "new/out"], "new", refuses=True),
    "synth": Command(["data", "synth", "new/out", "--train", "4", "--val", "2", "--size", "32"], "new", refuses=True),
    "download": Command(["download", "tiny"], "cache"),
    "eval": Command(["eval", "--data", "data", "--weights", "base.safetensors", "--json", "out/eval.json", "--plots", "out/plots"],
                    "out", refuses=True),
    "detect": Command(["detect", "--weights", "base.safetensors", "--source", "data/images/val", "--conf", "0.01", "--json",
                       "out/found.json", "--out", "out/pictures"], "out", refuses=True),
}
KILLED = ("train", "kept", "fold", "ranks", "tune")  # those that go on where they were
# Times and machines' names are in these.
VARIES = re.compile(r"report\.html$|tfevents|\.log$|metrics\.csv$|trials\.csv$|/lock$|\.png$|/\.brightnet-")


def is_temporary(path):
    return bool(re.search(r"\.\d+-\d+\.tmp$|\.part$|\.part\.from$", path))


def torn(path, data):
    """Why a file is not whole, or None. Temporary files and those that lines are added to may be cut anywhere."""
    name = os.path.basename(path)
    if is_temporary(path) or name.endswith(".log") or "tfevents" in name or name in ("metrics.csv", "lock"):
        return None
    if name.endswith(".safetensors"):
        if len(data) < 8:
            return "no header"
        size = struct.unpack("<Q", data[:8])[0]
        try:
            header = json.loads(data[8: 8 + size])
        except ValueError:
            return "a torn header"
        end = max((v["data_offsets"][1] for k, v in header.items() if k != "__metadata__"), default=0)
        return None if len(data) == 8 + size + end else f"{len(data)} bytes instead of {8 + size + end}"
    if name.endswith(".json"):
        try:
            json.loads(data)
        except ValueError:
            return "a torn JSON"
        return None
    ends = {".tar": bytes(1024), ".png": b"IEND\xaeB`\x82", ".jpg": b"\xff\xd9", ".html": b"</html>\n", ".yaml": b"\n", ".csv": b"\n"}
    end = ends.get(os.path.splitext(name)[1])
    return f"its end is missing ({len(data)} bytes)" if end and not data.endswith(end) else None


def write_state(files, folder, recorded):
    """In `folder` what was recorded in a folder whose path, which may be in the files, is as long."""
    assert len(recorded) == len(folder), f"{recorded} is not as long as {folder}"
    os.makedirs(folder, exist_ok=True)
    for path in sorted(files):
        target = folder + path
        data = files[path]
        if data is None:
            os.makedirs(target, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if isinstance(data, tuple):
            os.symlink(data[1].replace(recorded, folder), target)
            continue
        with open(target, "wb") as stream:
            stream.write(data.data.replace(recorded.encode(), folder.encode()))


def read_state(folder):
    """{"/path": Contents, None for a folder, or ("link", target)}"""
    files = {}
    for base, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(base, name)
            key = path[len(folder):]
            if os.path.islink(path):
                files[key] = ("link", os.readlink(path))
            elif name in folders:
                files[key] = None
            else:
                with open(path, "rb") as stream:
                    files[key] = Contents(stream.read())
    return files


def contents_of(files):
    """Hashable, and equal for equal contents."""
    return tuple((path, files[path].hash if isinstance(files[path], Contents) else files[path]) for path in sorted(files))


def read_by_nobody(path):
    """Contents that no command goes by: what was begun, and what is only added to for people to read."""
    return is_temporary(path) or path.endswith("train.log") or "tfevents" in path


def effect_of(files):
    """contents_of(), but of files that are read by nobody only whether they are empty."""
    return tuple((path, bool(data.data)) if isinstance(data, Contents) and read_by_nobody(path) else
                 (path, data.hash if isinstance(data, Contents) else data) for path, data in sorted(files.items()))


def hash_of(path, work):
    """Of a file below `work`, whose own path may be in it. How long the trials of a table took is left out."""
    if not os.path.exists(path):
        return None
    with open(path, "rb") as stream:
        data = stream.read().replace(work.encode(), b"")
    if path.endswith("trials.csv"):
        data = re.sub(rb"^((?:[^,\n]*,){3})[^,\n]*", rb"\1", data, flags=re.M)
    return hashlib.sha256(data).hexdigest()


class Tester:
    def __init__(self, program, keep):
        self.top = os.path.realpath(keep or tempfile.mkdtemp(prefix="crashes-"))
        self.keep = keep
        self.failures = 0
        self.origin = os.path.join(self.top, "origin")
        shutil.rmtree(self.top, ignore_errors=True)
        os.makedirs(os.path.join(self.top, "home"))
        self.serve(os.path.join(self.top, "served"))
        self.place_program(os.path.realpath(program))
        os.makedirs(self.origin)
        self.prepare()
        self.undisturbed = {}  # name: what the command leaves
        self.left = {}         # name: what is seen() of it

    def serve(self, folder):
        """The files of `brightnet download tiny`."""
        os.makedirs(folder)
        with open(os.path.join(folder, "tiny.weights"), "wb") as stream:
            stream.write(struct.pack("<iiiq", 0, 2, 5, 0) + struct.pack("<50000f", *([0.5] * 50000)))
        with open(os.path.join(folder, "tiny.cfg"), "w", encoding="ascii") as stream:
            stream.write(CFG)
        with open(os.path.join(folder, "tiny.names"), "w", encoding="ascii") as stream:
            stream.write("a\nb\n")

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        server.handle_error = lambda *_: None  # a connection that a failing call has ended
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{server.server_address[1]}"

    def place_program(self, program):
        """A copy of the program, so that nobody builds another meanwhile, with a list of weights of its own."""
        folder = os.path.join(self.top, "program")
        shutil.copytree(os.path.join(ROOT, "configs"), os.path.join(folder, "configs"))
        self.program = shutil.copy(program, folder)
        with open(os.path.join(folder, "configs/weights.yaml"), "w", encoding="ascii") as stream:
            stream.write(f"tiny:\n  - file: tiny.weights\n    address: {self.address}/tiny.weights\n    bytes: 200020\n"
                         f"    contents: nothing\n    cfg: {self.address}/tiny.cfg\n    names: {self.address}/tiny.names\n")

    def environment(self, work, **more):
        return dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="PASSIVE", HOME=os.path.join(self.top, "home"),
                    XDG_CACHE_HOME=os.path.join(work, "cache"), **more)

    def start(self, words, work, prefix=(), **more):
        """A process group of its own."""
        return subprocess.Popen([*prefix, self.program, *words], cwd=work, env=self.environment(work, **more),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace", start_new_session=True)

    def run(self, words, work, prefix=(), **more):
        process = self.start(words, work, prefix, **more)
        said = process.communicate(timeout=600)[0]
        return subprocess.CompletedProcess(words, process.returncode, said)

    def prepare(self):
        """What the user has."""
        self.must(["data", "synth", "data", "--train", "8", "--val", "4", "--size", "32"], self.origin)
        for name, text in (("net.yaml", NET), ("net.cfg", CFG)):
            with open(os.path.join(self.origin, name), "w", encoding="ascii") as stream:
                stream.write(text)
        self.must(run_of("train.average=0", epochs=1), self.origin)
        shutil.copy(os.path.join(self.origin, "runs/a/weights/last.safetensors"),
                    os.path.join(self.origin, "base.safetensors"))
        for folder in ("runs", "cache"):
            shutil.rmtree(os.path.join(self.origin, folder), ignore_errors=True)
        os.makedirs(os.path.join(self.origin, "out"))

    def must(self, words, work):
        done = self.run(words, work)
        if done.returncode != 0:
            raise SystemExit(f"test_crashes: brightnet {' '.join(words)} failed:\n{done.stdout}")
        return done.stdout

    def place(self, name):
        """A new folder with what the user has before the command."""
        work = os.path.join(self.top, name)
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.origin, work)
        return work

    def remove(self, work):
        if not self.keep:
            shutil.rmtree(work, ignore_errors=True)

    def fail(self, text):
        self.failures += 1
        print(f"FAILED   {text}", flush=True)

    def report(self, name, what, tries):
        """Does the tries, {where: work}, a core each, and tells their problems; many are mostly one fault."""
        print(f"         {name}: {what}", flush=True)
        found = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for where, problem in zip(tries, pool.map(lambda work: work(), tries.values())):
                if problem:
                    found += 1
                    self.fail(f"{name}: {where}: {problem if found <= 5 else problem.splitlines()[0]}")
        if not found:
            print(f"ok       {name}: {what}", flush=True)

    def wanted(self, name):
        """{path below `work`: its contents} of an undisturbed command."""
        if name not in self.undisturbed:
            command, work = COMMANDS[name], self.place(f"{name}-undisturbed")
            said = self.must(command.words, work)
            if command.again:
                for path in command.result:
                    assert os.path.exists(os.path.join(work, path)), f"{name} leaves no {path}"
                self.undisturbed[name] = {path: hash_of(os.path.join(work, path), work) for path in command.result}
            else:
                self.undisturbed[name] = self.whole(command, work)
            self.left[name] = self.seen(command, work, said)
            self.remove(work)
        return self.undisturbed[name]

    def whole(self, command, work):
        """All files that a command has left, but for temporary ones and those that differ from run to run."""
        files = {}
        for path, data in read_state(os.path.join(work, command.written)).items():
            if is_temporary(path) or VARIES.search(path) or data is None:
                continue
            if isinstance(data, tuple):
                files[path] = ("link", data[1].replace(work, ""))
            else:
                files[path] = hashlib.sha256(data.data.replace(work.encode(), b"")).hexdigest()
        return files

    def seen(self, command, work, said):
        """{path: what a user would miss of the file} of all files, also of those whose contents differ from run to run."""
        files = {}
        for path, data in read_state(os.path.join(work, command.written)).items():
            if not isinstance(data, Contents) or is_temporary(path) or path.endswith("/lock"):
                continue
            if path.endswith(".log"):  # how many lines that were said it lacks
                logged = data.data.decode("utf-8", "replace")
                value = sum(line not in logged for line in said.splitlines())
            elif path.endswith(".csv"):
                value = data.data.count(b"\n")
            elif VARIES.search(path) or "/state/" in path:
                value = len(data.data) > 0
            else:
                value = hashlib.sha256(data.data.replace(work.encode(), b"")).hexdigest()
            files[re.sub(r"tfevents.*", "tfevents", path)] = value
        return files

    def lost(self, name, work, said):
        """What a command that has complained of nothing has not written, or None."""
        self.wanted(name)
        found = self.seen(COMMANDS[name], work, said)
        missing = sorted(path for path, expected in self.left[name].items() if found.get(path) != expected)
        return f"nothing is said of what is missing in {missing[:5]}" if missing else None

    def torn_below(self, work, command):
        for path, data in read_state(os.path.join(work, command.written)).items():
            why = torn(path, data.data) if isinstance(data, Contents) else None
            if why:
                return f"{command.written}{path} is torn: {why}"
        return None

    def differs(self, name, work, stated=()):
        """What a finished command has left that is not what it leaves undisturbed, or None."""
        command, wanted = COMMANDS[name], self.wanted(name)
        if command.again:
            for path, expected in wanted.items():
                if path not in stated and hash_of(os.path.join(work, path), work) != expected:
                    return f"{path} is not that of an undisturbed run"
            return None
        found = self.whole(command, work)
        different = sorted(path for path in {**wanted, **found} if wanted.get(path) != found.get(path))
        return f"not as an undisturbed command leaves them: {different[:5]}" if different else None

    def begun(self, command, work):
        return all(os.path.exists(os.path.join(work, path)) for path in command.begun)

    def finish(self, name, work):
        """Goes on after a crash, as a user does: a problem, or None."""
        command = COMMANDS[name]
        words = command.again or command.words
        done = self.run(words, work)
        if done.returncode == 2 and command.again:
            if self.begun(command, work):
                return f"it cannot be resumed:\n{done.stdout[-1500:]}"
            shutil.rmtree(os.path.join(work, command.written), ignore_errors=True)  # nothing was begun: the user starts anew
            words = command.words
            done = self.run(words, work)
        elif done.returncode == 2 and command.refuses and re.search("exists|did not write", done.stdout):
            shutil.rmtree(os.path.join(work, command.written))
            if os.path.exists(os.path.join(self.origin, command.written)):
                os.makedirs(os.path.join(work, command.written))
            done = self.run(words, work)
        if done.returncode != 0:
            return f"`brightnet {' '.join(words)}` ended with {done.returncode}:\n{done.stdout[-1500:]}"
        return self.differs(name, work)
