"""Runs tests of a program, for as long as they may take, and stops them at once."""
import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess

from mutation.files import say, write_text

RUNNING = set()  # the process groups of tests


def kill(group):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def stop(*_):
    """At once, and the tests too: what is decided is in the results, and the next call goes on from there."""
    for group in list(RUNNING):
        kill(group)
    say("mutate: stopped")
    os._exit(1)


def run_tests(program, chosen, folder, cpu_seconds, wall_seconds, more=()):
    """Returns the exit status ('timeout' where it took too long), and the test that failed or was running."""
    scratch = os.path.join(folder, "scratch")
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    flags, log = os.path.join(folder, "flags"), os.path.join(folder, "test.log")
    write_text(flags, f"--gtest_filter={chosen}\n")

    def limit():
        for kind, value in ((resource.RLIMIT_CPU, int(cpu_seconds)), (resource.RLIMIT_DATA, 8 << 30),
                            (resource.RLIMIT_FSIZE, 16 << 30), (resource.RLIMIT_CORE, 0)):
            resource.setrlimit(kind, (value, value))
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # which a background job ignores
            signal.signal(number, signal.SIG_DFL)

    environment = dict(os.environ, TEST_TMPDIR=scratch)
    with open(log, "wb") as stream:
        child = subprocess.Popen([program, f"--gtest_flagfile={flags}", *more], cwd=scratch, env=environment,
                                 stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True,
                                 preexec_fn=limit)
        RUNNING.add(child.pid)
        try:
            status = child.wait(wall_seconds)
        except subprocess.TimeoutExpired:
            status = "timeout"
        finally:
            kill(child.pid)
            child.wait()
            RUNNING.discard(child.pid)
    if status == -signal.SIGXCPU:
        status = "timeout"
    failed = started = None
    with open(log, errors="replace", encoding="utf-8") as stream:
        for line in stream:
            if found := re.search(r"\[ RUN      \] (\S+)", line):
                started = found[1]
            elif found := re.search(r"\[  FAILED  \] ([^\s,]+\.[^\s,]+)", line):
                failed = failed or found[1]
    return status, failed or started
