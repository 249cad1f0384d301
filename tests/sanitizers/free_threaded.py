# SPDX-License-Identifier: Apache-2.0
"""Gets a free-threaded interpreter that ThreadSanitizer sees through, and pytest for it.

Prints the interpreter's path, and the folder of pytest, for scripts/sanitize. Both stay in
.build/matrix. The interpreter takes an hour of one core where that is slow, and root.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "matrix"))
import interpreters  # noqa: E402
import run  # noqa: E402

provide = interpreters.built_from_source(
    "trixie",
    "python3.13",
    "3.13t",
    "--disable-gil",
    "--with-thread-sanitizer",
    folder="3.13t-tsan",
)


def main():
    """One path a line."""
    try:
        provided = provide()
        run.install_packages()
    except interpreters.UnavailableError as error:
        sys.exit(f"sanitize: no free-threaded interpreter: {error}")
    print(provided.executable, run.PACKAGES, sep="\n")


if __name__ == "__main__":
    main()
