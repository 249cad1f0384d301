# SPDX-License-Identifier: Apache-2.0
"""Builds a free-threaded interpreter with ThreadSanitizer and installs pytest for it.

Prints the paths of the interpreter and of pytest for scripts/sanitize. Both are kept in
.build/matrix. The build takes up to an hour and needs root.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "matrix"))
import interpreters  # noqa: E402
import run  # noqa: E402

provide = interpreters.built_from_source(
    "sid",
    "python3.14",
    "3.14t",
    "--disable-gil",
    "--with-thread-sanitizer",
    folder="3.14t-tsan",
)


def main():
    """Print one path per line."""
    try:
        provided = provide()
        run.install_packages()
    except interpreters.UnavailableError as error:
        sys.exit(f"sanitize: no free-threaded interpreter: {error}")
    print(provided.executable, run.PACKAGES, sep="\n")


if __name__ == "__main__":
    main()
