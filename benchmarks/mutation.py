"""Mutation testing of the core: mutmut makes the mutants, this prints the share killed. Usage: ./test --mutation"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

MARK = 0.9
# mutmut's exit codes of a mutant's tests: 0 survived, 33 no test reaches it, 34 skipped, 36 and -24 timed out.
SURVIVED, UNREACHED, SKIPPED = 0, 33, 34


def main() -> None:
    mutmut = Path(sys.executable).with_name("mutmut")
    subprocess.run([mutmut, "run", *sys.argv[1:]], check=False)
    results = Counter[str]()
    survivors: list[str] = []
    for meta in sorted(Path("mutants/src/rota/core").glob("*.py.meta")):
        for name, code in json.loads(meta.read_text("utf-8"))["exit_code_by_key"].items():
            verdict = _verdict(code)
            results[verdict] += 1
            if verdict == "survived":
                survivors.append(name)
    judged = results["killed"] + results["survived"]
    share = results["killed"] / judged if judged else 0.0
    print("\n".join(survivors))
    print(f"mutants: {judged}, killed: {results['killed']} ({share:.1%}), not judged: {results['not judged']}")
    sys.exit(share < MARK)


def _verdict(code: int | None) -> str:
    if code is None or code == SKIPPED:
        return "not judged"
    return "survived" if code in (SURVIVED, UNREACHED) else "killed"


if __name__ == "__main__":
    main()
