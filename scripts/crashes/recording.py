"""What a disk may hold after a crash: a model of a folder, and strace's log of the calls that change it."""
import hashlib
import os
import re

CALLS = ("openat,creat,write,writev,pwrite64,pwritev,lseek,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,"
         "unlinkat,syncfs,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,copy_file_range,sendfile")


class Inode:
    """A file, a folder or a symbolic link. Contents are replaced, never changed, so that states can share them."""

    def __init__(self, folder=False):
        self.folder = folder
        self.now = self.synced = Contents(b"")
        self.target = None  # of a symbolic link


class Contents:
    def __init__(self, data):
        self.data = bytes(data)
        self.hash = hashlib.sha256(self.data).digest()


class Disk:
    """The files below a folder: as every process sees them, and what a power failure is certain to leave."""

    def __init__(self):
        self.names = {}   # path: Inode
        self.synced = {}  # path: Inode, as of the last sync of its folder

    def sync_folder(self, folder):
        inside = lambda path: os.path.dirname(path) == folder
        kept = {path: inode for path, inode in self.synced.items() if not inside(path)}
        kept.update({path: inode for path, inode in self.names.items() if inside(path)})
        self.synced = kept

    def rename(self, old, new):
        moved = {path: inode for path, inode in self.names.items() if path == old or path.startswith(old + "/")}
        for path in moved:
            del self.names[path]
        for path in [p for p in self.names if p.startswith(new + "/")]:
            del self.names[path]
        for path, inode in moved.items():
            self.names[new + path[len(old):]] = inode

    def exchange(self, a, b):
        of = lambda top: {p: i for p, i in self.names.items() if p == top or p.startswith(top + "/")}
        of_a, of_b = of(a), of(b)
        for path in [*of_a, *of_b]:
            del self.names[path]
        self.names.update({b + p[len(a):]: i for p, i in of_a.items()})
        self.names.update({a + p[len(b):]: i for p, i in of_b.items()})

    def states(self):
        """(how it came about, {path: Contents, None for a folder, or ("link", target)}) for each crash at this moment."""
        def picture(names, contents):
            files = {}
            for path, inode in names.items():
                if any(parent not in names for parent in parents(path) if parent in self.names or parent in self.synced):
                    continue
                files[path] = (None if inode.folder else ("link", inode.target) if inode.target is not None
                               else contents(inode))
            return files
        now, synced = (lambda inode: inode.now), (lambda inode: inode.synced)
        yield "killed", picture(self.names, now)
        yield "power failure", picture(self.synced, synced)
        yield "power failure, names ahead of contents", picture(self.names, synced)
        yield "power failure, contents ahead of names", picture(self.synced, now)


def parents(path):
    while True:
        path = os.path.dirname(path)
        if not path or path == "/":
            return
        yield path


# --- strace's log ------------------------------------------------------------------------------------------------------------

def unescape(text):
    return bytes(int(pair, 16) for pair in re.findall(r"\\x([0-9a-f]{2})", text))


def path_text(text):
    return unescape(text).decode("utf-8", "surrogateescape")


STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
DESCRIPTOR = re.compile(r"(?:^|[(, ])(AT_FDCWD|-?\d+)<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?")


class Recording:
    """Applies the lines of a log to a Disk, and calls `after(line number, call)` whenever it has changed."""

    def __init__(self, log, below, disk, after):
        self.below, self.disk, self.after = below, disk, after
        self.positions = {}  # (inode, descriptor): where the next write goes
        unfinished = {}
        with open(log, encoding="ascii", errors="replace") as stream:
            for number, line in enumerate(stream):
                process, _, text = line.rstrip("\n").partition(" ")
                text = text.strip()
                if text.endswith("<unfinished ...>"):
                    unfinished[process] = text[: -len("<unfinished ...>")]
                    continue
                resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
                if resumed:
                    text = unfinished.pop(process, "") + resumed.group(1)
                call = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)(<.*>)?", text, re.S)
                if not call or int(call.group(3)) < 0:
                    continue
                if self.apply(call.group(1), call.group(2), int(call.group(3)), call.group(4) or ""):
                    after(number, call.group(1))

    def inside(self, path):
        return path == self.below or path.startswith(self.below + "/")

    def paths(self, arguments):
        """The paths of a call: its strings, each below the folder of the descriptor before it."""
        found = []
        for match in STRING.finditer(arguments):
            folders = [m for m in DESCRIPTOR.finditer(arguments) if m.end() <= match.start()]
            path = path_text(match.group(1))
            if not os.path.isabs(path) and folders:
                path = os.path.join(path_text(folders[-1].group(2)), path)
            found.append(os.path.normpath(os.path.join(os.path.dirname(self.below), path)))
        return found

    def inode_of(self, arguments):
        match = DESCRIPTOR.search("(" + arguments)
        if not match or match.group(3):
            return None, None, None
        path = path_text(match.group(2))
        return path, self.disk.names.get(path), int(match.group(1))

    def apply(self, name, arguments, result, decoded):
        disk = self.disk
        if name in ("openat", "creat"):
            path = self.paths(arguments)[-1]
            if not self.inside(path):
                return False
            created = ("O_CREAT" in arguments or name == "creat") and path not in disk.names
            if created:
                disk.names[path] = Inode()
            inode = disk.names.get(path)
            if inode is None or inode.folder:
                return False
            cleared = ("O_TRUNC" in arguments or name == "creat") and len(inode.now.data) > 0
            if cleared:
                inode.now = Contents(b"")
            self.positions[(inode, result)] = None if "O_APPEND" in arguments else 0
            return created or cleared
        if name in ("write", "writev", "pwrite64", "pwritev"):
            path, inode, descriptor = self.inode_of(arguments)
            if inode is None or not self.inside(path):
                return False
            data = b"".join(unescape(m.group(1)) for m in STRING.finditer(arguments))[:result]
            assert len(data) == result, f"strace cut a write of {result} bytes to {path}"
            if name.startswith("pwrite"):
                at = int(arguments.rsplit(",", 1)[1])
            else:
                at = self.positions.get((inode, descriptor), 0)
                at = len(inode.now.data) if at is None else at
                if self.positions.get((inode, descriptor), 0) is not None:
                    self.positions[(inode, descriptor)] = at + len(data)
            before = inode.now.data + bytes(max(0, at - len(inode.now.data)))
            inode.now = Contents(before[:at] + data + before[at + len(data):])
            return True
        if name == "lseek":
            path, inode, descriptor = self.inode_of(arguments)
            if inode is not None and self.positions.get((inode, descriptor)) is not None:
                self.positions[(inode, descriptor)] = result
            return False
        if name in ("copy_file_range", "sendfile"):
            return self.copied(name, arguments, result)
        if name == "ftruncate":
            path, inode, _ = self.inode_of(arguments)
            if inode is None or not self.inside(path):
                return False
            size = int(arguments.rsplit(",", 1)[1])
            inode.now = Contents(inode.now.data[:size] + bytes(max(0, size - len(inode.now.data))))
            return True
        if name == "syncfs":
            disk.synced = dict(disk.names)
            for inode in disk.names.values():
                inode.synced = inode.now
            return False
        if name in ("fsync", "fdatasync"):
            path, inode, _ = self.inode_of(arguments)
            if inode is None or not self.inside(path):
                if path == os.path.dirname(self.below):
                    disk.sync_folder(path)
                return False
            if inode.folder:
                disk.sync_folder(path)
            else:
                inode.synced = inode.now
            return True
        paths = self.paths(arguments)
        if not paths or not self.inside(paths[-1] if name.startswith("symlink") else paths[0]):
            return False
        if name.startswith("rename"):
            assert all(self.inside(path) for path in paths), f"a rename across the folder: {paths}"
            if "RENAME_EXCHANGE" in arguments:
                disk.exchange(*paths)
            else:
                disk.rename(*paths)
        elif name.startswith("unlink") or name == "rmdir":
            disk.names.pop(paths[0], None)
        elif name.startswith("mkdir"):
            disk.names[paths[0]] = Inode(folder=True)
        elif name.startswith("symlink"):
            link = Inode()
            link.target = path_text(STRING.search(arguments).group(1))
            disk.names[paths[-1]] = link
        elif name.startswith("link"):
            disk.names[paths[1]] = disk.names[paths[0]]
        return True

    def copied(self, name, arguments, result):
        """A file of the user's, which nobody changes, is copied from its beginning to its end."""
        descriptors = list(DESCRIPTOR.finditer("(" + arguments))
        source, target = descriptors[::-1] if name == "sendfile" else descriptors
        path = path_text(target.group(2))
        inode = self.disk.names.get(path)
        if inode is None or not self.inside(path):
            return False
        at = len(inode.now.data)
        with open(path_text(source.group(2)), "rb") as stream:
            inode.now = Contents(inode.now.data + stream.read()[at: at + result])
        return True
