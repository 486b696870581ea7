"""Assembles the committed PTX for real cards and tells what each kernel takes of them."""

import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CARDS = {"sm_75": "Turing", "sm_80": "Ampere", "sm_90": "Hopper", "sm_120": "Blackwell"}
ASSEMBLER = "ptxas 13.0.88"

HEAD = """# What the kernels take of a card

Written by `scripts/ptx --report`: {assembler} assembles the committed PTX for {cards}. A kernel that spills, or that needs
more registers than its block size leaves it, costs time where no test sees it: look here before and after a change.

Registers are of one thread; shared memory is the static part, in bytes of one block. {summary}

| family | kernel | {columns} | shared | spills |
|---|---|{lines}---|---|
"""


class Use:
    """What ptxas says of one kernel."""

    def __init__(self):
        self.registers = self.spilled = self.shared = self.stack = 0


def assemble(ptx: Path, card: str) -> dict:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        done = subprocess.run(
            [os.environ["GRAPHLUME_PTXAS"], f"-arch={card}", "-v", str(ptx), "-o", cubin.name],
            capture_output=True, text=True,
        )
    text = done.stdout + done.stderr
    if done.returncode:
        raise SystemExit(f"{ptx.name} for {card}: {text}")
    uses, kernel = {}, None
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = uses.setdefault(match.group(1), Use())
        elif kernel and (match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", line)):
            kernel.stack = int(match.group(1))
            kernel.spilled = int(match.group(2)) + int(match.group(3))
        elif kernel and (match := re.search(r"Used (\d+) registers", line)):
            kernel.registers = int(match.group(1))
            shared = re.search(r"(\d+) bytes smem", line)
            kernel.shared = int(shared.group(1)) if shared else 0
    return uses


def report(crate: Path) -> str:
    files = sorted((crate / "ptx").glob("*.ptx"))
    jobs = [(ptx, card) for ptx in files for card in CARDS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(jobs, pool.map(lambda job: assemble(*job), jobs)))
    rows, spilling, stacks, kernels, most = "", 0, 0, 0, 0
    for ptx in files:
        for kernel in sorted(results[ptx, next(iter(CARDS))]):
            uses = [results[ptx, card][kernel] for card in CARDS]
            spilled = [f"{card}: {u.spilled}" for card, u in zip(CARDS, uses) if u.spilled]
            registers = " | ".join(str(u.registers) for u in uses)
            shared = max(u.shared for u in uses)
            rows += f"| {ptx.stem} | {kernel} | {registers} | {shared} | {', '.join(spilled) or 0} |\n"
            kernels, spilling = kernels + 1, spilling + bool(spilled)
            stacks += any(u.stack for u in uses)
            most = max(most, *(u.registers for u in uses))
    summary = f"{kernels} kernels; {spilling} spill, {stacks} keep a stack frame, the most registers are {most}."
    return HEAD.format(
        assembler=ASSEMBLER,
        cards=", ".join(f"{card} ({name})" for card, name in CARDS.items()),
        columns=" | ".join(CARDS), lines="---|" * len(CARDS), summary=summary,
    ) + rows
