"""`python -m brightnet` and the script `brightnet`: the program itself, which takes this process's place."""

import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).resolve().parent / "bin" / "brightnet"
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
