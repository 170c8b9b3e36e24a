"""Commands of README and docs as processes, but without seconds of imports for each of them.

A server has imported what commands use, and forks for each one. What is called like a program,
`graphprior` and `python` in a folder at the head of the PATH, only passes its arguments, folder,
environment, open files and Ctrl-C on to it, and ends with the exit code that comes back. If it is
killed, so is what it stands for. Where processes cannot be forked, the programs themselves run.

    python tests/warm.py SOCKET      serves until standard input ends
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

IMPORTED = (
    "distributed", "matplotlib.figure", "matplotlib.backends.backend_agg", "networkx", "openpyxl",
    "pyarrow", "graphprior.cli.main", "graphprior.cli.estimate", "graphprior.cli.experiment",
    "graphprior.cli.train", "graphprior.estimator", "graphprior.paper.experiments.registry",
    "graphprior.plots", "graphprior.priors.store", "graphprior.report.page",
)  # fmt: skip
THERE = "GRAPHPRIOR_WARM"
CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    told = json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(line, [len(told).to_bytes(8, "little")], [0, 1, 2])
    line.sendall(told)
    signal.signal(signal.SIGINT, lambda *_: line.sendall(b"!"))
    code = line.recv(1)
sys.exit(code[0] if code else 1)
"""


@cache
def programs():
    """The folder with the programs; None where there is none, so that others must be found."""
    if not hasattr(os, "fork"):
        return None
    if THERE in os.environ:  # a program that was called from there calls others
        return Path(os.environ[THERE])
    folder = Path(tempfile.mkdtemp(prefix="warm"))
    address = str(folder / "socket")
    server = subprocess.Popen([sys.executable, __file__, address], stdin=subprocess.PIPE)
    atexit.register(server.communicate)
    for name in ("graphprior", "python"):
        (folder / name).write_text(CLIENT.format(python=sys.executable, address=address, name=name))
        (folder / name).chmod(0o755)
    while not Path(address).exists():
        assert server.poll() is None, "the server ended before it began"
        select.select([], [], [], 0.01)
    os.environ[THERE] = str(folder)
    return folder


def program(name):
    """What starts a program, as the beginning of a list of words."""
    folder = programs()
    if folder is not None:
        return [str(folder / name)]
    start = "from graphprior.cli.main import main; main()"
    return [sys.executable, *(["-c", start] if name == "graphprior" else [])]


def serve(address):
    """Fork for whoever calls, until standard input ends."""
    answering = set()
    for name in IMPORTED:
        import_module(name)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address + "~")
        door.listen()
        os.rename(address + "~", address)
        while True:
            ready, _, _ = select.select([door, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            answering = {pid for pid in answering if os.waitpid(pid, os.WNOHANG)[0] == 0}
            line, _ = door.accept()
            pid = os.fork()
            if pid == 0:
                door.close()
                answer(line)
            answering.add(pid)
            line.close()


def answer(line):
    """Run what was called in a process of its own; the exit code goes back.

    Ctrl-C comes through, and if who called is killed then so is the process.
    """
    size, files, _, _ = socket.recv_fds(line, 8, 3)
    told = b""
    while len(told) < int.from_bytes(size, "little"):
        told += line.recv(1 << 20)
    name, words, folder, environment = json.loads(told)
    ended, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        line.close()
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        os._exit(outcome(name, words))
    for file in (*files, end):
        os.close(file)
    while ended not in (ready := select.select([line, ended], [], [])[0]):
        if line in ready and not line.recv(1):
            os.killpg(pid, signal.SIGKILL)
            break
        os.kill(pid, signal.SIGINT)
    _, status = os.waitpid(pid, 0)
    with suppress(OSError):  # who called may be gone
        line.sendall(bytes([os.waitstatus_to_exitcode(status) % 256]))
    os._exit(0)


def outcome(name, words):
    """The exit code of a program, as the interpreter would find it."""
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
        for number in range(3)
    )
    code = 0
    try:
        run(name, words)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def run(name, words):
    """A program in this process."""
    if name == "graphprior":
        sys.argv = [name, *words]
        import_module("graphprior.cli.main").main()
    elif words[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *words[2:]], ""
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv, sys.path[0] = words, str(Path(words[0]).resolve().parent)
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1])
