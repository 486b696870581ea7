"""scripts/gpu.sh on a machine with only a driver: the emulated one, the suite as it is built, stand-ins for the rest."""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import binary
from test_gpu import driver

ROOT = Path(__file__).resolve().parents[2]


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


class Machine:
    """A checkout with a payload, and the programs of a GPU machine."""

    def __init__(self, at):
        self.at, self.out, self.tools = at, at / "out", at / "tools"
        (at / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts/gpu.sh", at / "scripts/gpu.sh")
        payload = at / "payload"
        payload.mkdir()
        shutil.copy(Path(binary()).parent / "graphlume-gpu-suite", payload)
        # A device test says what it was called with. Its family is one that the sanitizer is called for, too.
        program(payload / "tests/scan", 'echo "scan $*"; exit ${SCAN_ENDS_WITH:-0}')
        program(self.tools / "nvidia-smi", "echo 'A card, 580.1, 1 MiB'")
        program(self.tools / "compute-sanitizer", 'echo "sanitizer $*"')
        (at / ".gpu").mkdir()
        self.pack()

    def pack(self):
        subprocess.run(["tar", "-C", self.at / "payload", "-czf", self.at / ".gpu/payload.tar.gz", "."], check=True)

    def run(self, *arguments, **settings):
        env = {**os.environ, **driver(), "PATH": f"{self.tools}:{os.environ['PATH']}", "OUT": str(self.out),
               "GRAPHLUME_GPU_SUITE": "--small --seconds 3600", "GRAPHLUME_GPU_TESTS": "emulator", **settings}
        return subprocess.run(["scripts/gpu.sh", "run", *arguments], cwd=self.at, env=env, capture_output=True, text=True)

    def rows(self):
        return [json.loads(line) for line in (self.out / "suite.jsonl").read_text().splitlines()]

    def logs(self):
        with tarfile.open(self.out / "logs.tar.gz") as packed:
            return {Path(m.name).name: packed.extractfile(m).read().decode() for m in packed if m.isfile()}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine")


def test_one_call_gives_the_figures_then_the_device_tests_then_the_sanitizer(machine):
    ran = machine.run()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = machine.rows()
    assert rows[0]["row"] == "card" and rows[-1]["row"] == "end" and not rows[-1]["left_out"]
    tasks = [r for r in rows if "equal" in r]
    assert len(tasks) >= 12 and all(r["equal"] for r in tasks), tasks
    logs = machine.logs()
    assert "--skip faulty_" in logs["test-scan.log"]
    assert {"memcheck-scan.log", "racecheck-scan.log"} <= logs.keys()
    assert "--tool memcheck" in logs["memcheck-scan.log"]
    # What a lent machine gives back is a handful of files.
    assert sorted(p.name for p in machine.out.iterdir()) == ["gpu.txt", "logs.tar.gz", "suite.jsonl"]


def test_the_sanitizer_takes_the_tests_of_slow_programs_one_by_one_on_the_smaller_graphs(machine):
    tests = 'case "$*" in --list*) echo "one: test"; echo "faulty_two: test"; echo "three: test";; esac'
    program(machine.at / "payload/tests/louvain", tests)
    program(machine.tools / "compute-sanitizer", 'echo "sanitizer $* zoo $GRAPHLUME_ZOO"; case "$*" in *three*) exit 9;; esac')
    machine.pack()
    ran = machine.run()
    logs = machine.logs()
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == "FAILED: racecheck-louvain-three memcheck-louvain-three"
    assert "ok racecheck-louvain-one" in ran.stdout and "ok memcheck-scan" in ran.stdout
    assert "--tool racecheck" in logs["racecheck-louvain-one.log"]
    assert logs["racecheck-louvain-one.log"].rstrip().endswith("--exact one zoo short")
    assert "--exact" not in logs["racecheck-scan.log"]
    assert not any("faulty_two" in name for name in logs) and "zoo" not in logs["test-louvain.log"]


def test_a_part_that_fails_is_named_and_the_others_are_done(machine):
    ran = machine.run(SCAN_ENDS_WITH="3", GRAPHLUME_EMU_FAIL_LAUNCH="300")
    assert ran.returncode == 1
    assert "FAILED: suite test-scan" in ran.stdout.splitlines()[-1], ran.stdout
    assert any("error" in r for r in machine.rows())
    assert "memcheck-scan.log" in machine.logs()


def test_without_a_gpu_or_a_sanitizer_nothing_passes(machine):
    (machine.tools / "compute-sanitizer").unlink()
    if not shutil.which("compute-sanitizer"):
        ran = machine.run("sanitize")
        assert ran.returncode == 1 and "compute-sanitizer missing" in ran.stdout
    program(machine.tools / "nvidia-smi", "exit 9")
    ran = machine.run()
    assert ran.returncode == 1 and "NO GPU" in ran.stderr and not (machine.out / "suite.jsonl").exists()


def test_what_is_left_when_the_time_of_the_call_is_over_is_named_and_not_run(machine):
    program(machine.at / "payload/tests/scan", "exec sleep 600")
    program(machine.at / "payload/tests/sort", "echo sorted")
    machine.pack()
    ran = machine.run("tests", GRAPHLUME_GPU_SECONDS="2")
    assert ran.returncode == 1 and "FAILED (124): test-scan" in ran.stdout, ran.stdout + ran.stderr
    assert "NOT RUN: the 2 seconds of this call are over" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "FAILED: test-scan test-sort" and "test-sort.log" not in machine.logs()
