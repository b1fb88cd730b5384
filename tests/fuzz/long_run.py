"""A long run over fresh cases, ``make fuzz FRAMES=10000 FILES=5000 SEED=1``: it resumes, and writes a record.

Cases are done in chunks; each finished chunk is a line of a file beside the record, so that a run that was stopped
continues with the next chunk. A case is known by the seed of the run and its number.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from fuzz import damage, laws
from fuzz.choices import Seeded
from fuzz.outcomes import CLEAR, GOOD, OUTCOMES, UNCLEAR, Outcome
from fuzz.tables import table_case
from gramian.core.atomic import append_bytes, atomic_write
from gramian.core.version import __version__

CHUNK = 50
EXAMPLES = 100
"""Faults that the record lists with their cases, at most."""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/fuzz.json"))
    options = parser.parse_args()
    parts = options.out.with_suffix(".parts.jsonl")
    done = {chunk["key"] for chunk in finished(parts)}
    jobs = [(kind, start, min(start + CHUNK, total), options.seed)
            for kind, total in (("files", options.files), ("frames", options.frames))
            for start in range(0, total, CHUNK)]  # fmt: skip
    left = [job for job in jobs if key_of(job) not in done]
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.processes) as pool:
        for chunk in pool.imap_unordered(run_chunk, left):
            append_bytes(parts, (json.dumps(chunk) + "\n").encode())
    wanted = {key_of(job) for job in jobs}
    record = summary([chunk for chunk in finished(parts) if chunk["key"] in wanted], options)
    atomic_write(options.out, json.dumps(record, indent=1) + "\n")
    atomic_write(options.out.with_suffix(".md"), table(record))
    raise SystemExit(any(record[kind]["faults"] for kind in ("frames", "files")))


def key_of(job):
    return "{} {}-{} seed {}".format(*job)


def finished(path):
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.endswith("}")]


def run_chunk(job):
    """Do the cases of a chunk, and return their outcomes."""
    import torch

    torch.set_num_threads(1)
    kind, start, stop, seed = job
    begin = time.process_time()
    counted, faults, reasons, grown = Counter(), [], Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(start, stop):
            choose = Seeded(kind, seed, number)
            case = table_case(choose) if kind == "frames" else damage.file_case(choose)
            meter = Memory()
            try:
                outcome = laws.judge(case) if kind == "frames" else damage.judge(case, f"{folder}/m.gramian", meter)
            except Exception as error:  # a fault of the fuzzing itself must not hide the other cases
                outcome = Outcome(UNCLEAR, f"the case cannot be made: {type(error).__name__}: {error}")
            grown = max(grown, meter.largest)
            counted[outcome.kind] += 1
            reasons[outcome.detail.split(": ")[0] if outcome.kind == GOOD else ""] += 1
            if outcome.kind not in (GOOD, CLEAR):
                faults.append({"number": number, "kind": outcome.kind, "detail": outcome.detail, "case": repr(case)})
    return {
        "key": key_of(job),
        "kind": kind,
        "cases": stop - start,
        "outcomes": counted,
        "right": {reason: count for reason, count in reasons.items() if reason},
        "faults": faults,
        "grown": grown,
        "seconds": time.process_time() - begin,
    }


class Memory:
    """Growth of the largest resident memory of this process since the first call; 0 where the system does not tell."""

    def __init__(self):
        self.largest = 0
        self._start = None

    def __call__(self):
        if self._start is None:
            with suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5")  # begins a new largest value
            self._start = self._peak()
            return 0
        self.largest = max(self.largest, self._peak() - self._start)
        return self.largest

    @staticmethod
    def _peak():
        try:
            lines = Path("/proc/self/status").read_text().split("\n")
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def summary(chunks, options):
    """Return the record of a run."""
    record = {
        "what": "fuzzed tables and model files",
        "gramian": __version__,
        "command": f"make fuzz FRAMES={options.frames} FILES={options.files} SEED={options.seed}",
        "commit": os.environ.get("GRAMIAN_COMMIT", ""),
        "seed": options.seed,
    }
    for kind in ("frames", "files"):
        own = [chunk for chunk in chunks if chunk["kind"] == kind]
        outcomes = sum((Counter(chunk["outcomes"]) for chunk in own), Counter())
        right = sum((Counter(chunk["right"]) for chunk in own), Counter())
        faults = [fault for chunk in own for fault in chunk["faults"]]
        record[kind] = {
            "cases": sum(chunk["cases"] for chunk in own),
            "outcomes": {name: outcomes.get(name, 0) for name in OUTCOMES},
            "right": dict(right),
            "largest_growth_bytes": max((chunk["grown"] for chunk in own), default=0),
            "processor_seconds": round(sum(chunk["seconds"] for chunk in own), 1),
            "faults": faults[:EXAMPLES],
        }
    return record


def table(record):
    """Return the record as a table in Markdown."""
    names = {"frames": "fits of tables", "files": "loads of model files"}
    lines = [
        f"`{record['command']}`, gramian {record['gramian']}",
        "",
        f"| cases | tried | {' | '.join(OUTCOMES)} | largest growth of memory | processor time |",
        f"|---|---|{'---|' * len(OUTCOMES)}---|---|",
    ]
    for kind, name in names.items():
        part = record[kind]
        cells = [f"{part['outcomes'][outcome]:,}" for outcome in OUTCOMES]
        growth = f"{part['largest_growth_bytes'] / 1e6:.0f} MB" if kind == "files" else "not measured"
        minutes = f"{part['processor_seconds'] / 60:.1f} min"
        lines.append(f"| {name} | {part['cases']:,} | {' | '.join(cells)} | {growth} | {minutes} |")
    for kind in names:
        for fault in record[kind]["faults"]:
            lines.append(f"- {fault['kind']}, {kind} {fault['number']}: {fault['detail']}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
