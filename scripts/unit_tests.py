"""Runs the unit and integration tests of the workspace, two programs at a time, the longest first.

usage: unit_tests.py [--times FILE] [--asan LIBRARY] [--odd part|whole] [--log FILE] [--] [ARGUMENTS OF cargo test ...]

cargo runs one test program after the other, and half of them use one core. The programs are those that `cargo test` with
the given arguments (the whole workspace by default) builds. With --asan the programs of the kernels, and the engine's tests
of its operators over many graphs, run once more with the kernels under AddressSanitizer, whose LIBRARY is loaded first. With --odd part the quicker of them run again with lanes,
warps and blocks in other orders, once on a card of 132 multiprocessors; --odd whole runs all of them in eight orders on a
small and on that card, and nothing else. --times is where the seconds of the last run are kept,
by which the order is chosen. Every line of every test goes to --log; what failed, and the numbers, are printed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WORKERS = 2
ALL = ["--workspace", "--lib", "--bins", "--tests"]
# A test that hangs is a failure with a name, and does not hold everything up.
HANGS_S = 1800
# Seeds of the order in which lanes, warps and blocks run (tests/emu), and multiprocessors with their threads
# and their compute capability.
SMALL, LARGE = (2, 1024, 75), (132, 2048, 90)
ODD = {"part": [(1, LARGE), (2, SMALL)], "whole": [(seed, card) for seed in range(1, 9) for card in (SMALL, LARGE)]}
# Left out of the part: four fifths of the time.
SLOW_KERNEL_TESTS = {"dispatch", "force_atlas2", "louvain", "pagerank"}
# The engine's tests of what queries run on the GPU.
OPERATORS = ("tests::gpu_zoo",)
RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.M)


class Program:
    """A compiled test program, and how it is started."""

    def __init__(self, artifact, env=None, suffix="", only=()):
        package = Path(artifact["manifest_path"]).parent
        kind = artifact["target"]["kind"][0]
        self.name = f"{package.name}/{artifact['target']['name']} ({kind}){suffix}"
        self.path, self.package, self.env, self.only = artifact["executable"], package, env or {}, only

    def run(self):
        """(exit status, output, seconds); the status is None when it hung."""
        began = time.monotonic()
        env = {**os.environ, **self.env, "CARGO_MANIFEST_DIR": str(self.package), "RUSTC_BOOTSTRAP": "1"}
        # The harness tells how long each test took; for that it wants to be told that unstable options are welcome.
        process = subprocess.Popen([self.path, "-Z", "unstable-options", "--report-time", *self.only], cwd=self.package, env=env,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            output, _ = process.communicate(timeout=HANGS_S)
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, status = process.communicate()[0], None
        return status, output, time.monotonic() - began


def artifacts(arguments):
    """What cargo says of each test program that it has built."""
    built = subprocess.run(["cargo", "test", "--locked", "--quiet", "--no-run", "--message-format=json", *arguments],
                           stdout=subprocess.PIPE, text=True)
    if built.returncode:
        sys.exit(built.returncode)
    lines = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    return [m for m in lines if m.get("reason") == "compiler-artifact" and m.get("executable") and m["profile"]["test"]]


def odd_schedule(artifact, seed, card):
    multiprocessors, threads, capability = map(str, card)
    env = {"GRAPHLUME_EMU_SEED": str(seed), "GRAPHLUME_EMU_SMS": multiprocessors, "GRAPHLUME_EMU_SM_THREADS": threads,
           "GRAPHLUME_EMU_CAPABILITY": capability}
    return Program(artifact, env, f" in order {seed} on {multiprocessors} multiprocessors")


def programs(found, asan, odd):
    own = [Program(a) for a in found] if odd != "whole" else []
    kernels = [a for a in found if a["manifest_path"].endswith("tests/emu/Cargo.toml") and a["target"]["kind"] == ["test"]]
    if asan:
        env = {"GRAPHLUME_EMU": "asan", "ASAN_OPTIONS": "detect_leaks=0", "LD_PRELOAD": asan}
        own += [Program(a, env, " under AddressSanitizer") for a in kernels]
        engine = [a for a in found if a["manifest_path"].endswith("engine/core/Cargo.toml") and a["target"]["kind"] == ["lib"]]
        own += [Program(a, env, " under AddressSanitizer", OPERATORS) for a in engine]
    left_out = SLOW_KERNEL_TESTS if odd == "part" else set()
    chosen = [a for a in kernels if a["target"]["name"] not in left_out]
    return own + [odd_schedule(a, *order) for order in ODD.get(odd, []) for a in chosen]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--times", type=Path)
    p.add_argument("--asan")
    p.add_argument("--odd", choices=ODD)
    p.add_argument("--log", type=Path)
    p.add_argument("arguments", nargs="*")
    args = p.parse_args()
    todo = programs(artifacts(args.arguments or ALL), args.asan, args.odd)
    if not todo:
        sys.exit("no test program was built")
    times = json.loads(args.times.read_text()) if args.times and args.times.is_file() else {}
    todo.sort(key=lambda t: -times.get(t.name, 1e9))
    lock, failed, passed, ignored = threading.Lock(), [], 0, 0

    def carry_out(program):
        nonlocal passed, ignored
        status, output, seconds = program.run()
        with lock:
            times[program.name] = seconds
            counts = [tuple(map(int, m.groups())) for m in RESULT.finditer(output)]
            passed += sum(c[0] for c in counts)
            ignored += sum(c[2] for c in counts)
            if args.log:
                with args.log.open("a") as log:
                    log.write(f"     Running {program.name}\n{output}\n")
            if status != 0:
                said = "\n".join(l for l in output.splitlines() if not re.match(r"^test .* \.\.\. (ok|ignored)", l))
                failed.append(program.name)
                why = f"hung for {HANGS_S} s" if status is None else f"ended with {status}"
                print(f"{program.name} {why}:\n{said[-12000:]}", flush=True)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(carry_out, todo))
    if args.times:
        args.times.write_text(json.dumps(times))
    print(f"{passed} passed, {len(failed)} failed, {ignored} ignored in {len(todo)} programs"
          if not failed else f"{len(failed)} of {len(todo)} programs failed: {', '.join(failed)}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
