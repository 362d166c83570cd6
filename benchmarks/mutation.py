"""Mutation testing of the core: mutmut makes the mutants, this prints the share killed. Usage: ./test --mutation"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

MARK = 0.9
MUTANTS = Path("mutants")
# mutmut's exit codes of a mutant's tests: 0 survived, 33 no test reaches it, 34 skipped; the rest are kills.
SURVIVED, UNREACHED, SKIPPED = 0, 33, 34


def main() -> None:
    _make_mutants(sys.argv[1:])
    results = Counter[str]()
    for meta in sorted((MUTANTS / "src/rota/core").glob("*.py.meta")):
        for name, code in json.loads(meta.read_text("utf-8"))["exit_code_by_key"].items():
            verdict = _verdict(code)
            results[verdict] += 1
            if verdict == "survived":
                print(name)
    judged = results["killed"] + results["survived"]
    share = results["killed"] / judged if judged else 0.0
    print(f"mutants: {judged}, killed: {results['killed']} ({share:.1%}), not judged: {results['not judged']}")
    sys.exit(share < MARK)


def _make_mutants(arguments: list[str]) -> None:
    """Run mutmut; its spinner is for terminals only, so anywhere else it goes to a file."""
    command = [Path(sys.executable).with_name("mutmut"), "run", *arguments]
    if sys.stdout.isatty():
        subprocess.run(command, check=False)
        return
    MUTANTS.mkdir(exist_ok=True)
    log = MUTANTS / "mutmut.log"
    print(f"Running mutmut, which takes a quarter of an hour; its progress is in {log}", flush=True)
    with log.open("wb") as output:
        subprocess.run(command, check=False, stdout=output, stderr=output)


def _verdict(code: int | None) -> str:
    if code is None or code == SKIPPED:
        return "not judged"
    return "survived" if code in (SURVIVED, UNREACHED) else "killed"


if __name__ == "__main__":
    main()
