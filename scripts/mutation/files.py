"""Whole files, what commands print, and lines for who watches."""
import os
import subprocess


def say(text):
    print(text, flush=True)


def read_text(file):
    with open(file, encoding="utf-8") as stream:
        return stream.read()


def write_text(file, text):
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text)


def read_bytes(file):
    with open(file, "rb") as stream:
        return stream.read()


def output_of(command, folder):
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
