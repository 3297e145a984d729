"""Run every benchmark, print one table, write the JSON: what ``make bench`` calls.

``python benchmarks/run.py [engine pipeline agent startup memory bridge handle operations probes]`` runs only those
named. Exits 1 when a promised figure was missed.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import agent, agent_peers, bridge, engine, handle, memory, operations, pipeline, probes, startup
from benchmarks.harness_kit import finish
from benchmarks.peers import DISTRIBUTIONS

MEASURED = {"engine": engine.rows, "pipeline": pipeline.rows, "agent": agent.rows, "startup": startup.rows,
            "memory": memory.rows, "bridge": bridge.rows, "handle": handle.rows,
            "operations": operations.rows}  # fmt: skip


def main() -> int:
    """Measure what was asked for."""
    names = [*MEASURED, "probes"]
    parser = argparse.ArgumentParser(description="Measure dshhooks beside its peers.")
    parser.add_argument("which", nargs="*", metavar="BENCH", help=f"any of: {', '.join(names)} (default: all)")
    wanted = parser.parse_args().which or names
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are: {', '.join(names)}")
    rows = []
    for name, measure in MEASURED.items():
        if name in wanted:
            print(f"measuring {name} ...", file=sys.stderr)
            rows += measure()
    code = finish("all", rows, (*DISTRIBUTIONS, agent_peers.DISTRIBUTIONS[0])) if rows else 0
    return max(code, probes.main()) if "probes" in wanted else code


if __name__ == "__main__":
    sys.exit(main())
