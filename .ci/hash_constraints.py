"""constraints.txt → constraints-hashed.txt: the same versions, with the SHA-256 of every file that the index lists.

    python .ci/hash_constraints.py [--index https://pypi.org/simple]

Files of all platforms are taken, so the result serves them all. What the index does not list is named, and left out.
"""

import argparse
import re
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

root = Path(__file__).resolve().parent.parent
head = """\
# The versions of constraints.txt with the SHA-256 of each of their files on PyPI, for every platform.
# Made by .ci/hash_constraints.py; make it again whenever constraints.txt changes.
#
#   pip install torch=={torch}                                # see below
#   pip install --require-hashes -r constraints-hashed.txt
#   pip install --no-deps .
#
# With --require-hashes pip installs nothing that is not listed here. PyPI's torch for Linux brings the CUDA libraries
# along, which are not listed: install torch first, from PyPI or as one of PyTorch's own builds (CPU, ROCm, another
# CUDA). Those builds are other files with other hashes, and pip takes a torch that is there without asking for one.
"""


class Links(HTMLParser):
    """The addresses on a page of the simple index."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for key, value in attrs if key == "href" and value]


def version_of(file: str) -> Version | None:
    try:
        return parse_wheel_filename(file)[1] if file.endswith(".whl") else parse_sdist_filename(file)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def hashes(index: str, name: str, version: str) -> list[str]:
    """Those of all files of one version."""
    request = urllib.request.Request(f"{index.rstrip('/')}/{name}/", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        page = Links()
        page.feed(answer.read().decode())
    found = set()
    for link in map(urlsplit, page.found):
        digest = re.fullmatch(r"sha256=([0-9a-f]{64})", link.fragment)
        if digest and version_of(unquote(link.path).rpartition("/")[2]) == Version(version):
            found.add(digest[1])
    return sorted(found)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--index", default="https://pypi.org/simple")
    index = arguments.parse_args().index
    lines = (root / "constraints.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda pin: hashes(index, *pin), pins))
    missing = [f"{name}=={version}" for (name, version), some in zip(pins, found, strict=True) if not some]
    text = head.format(torch=dict(pins)["torch"])
    text += "".join(f"# Not on PyPI, and so not here: {one}\n" for one in missing)
    for (name, version), some in zip(pins, found, strict=True):
        if some:
            text += " \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{one}" for one in some)]) + "\n"
    (root / "constraints-hashed.txt").write_text(text)
    print(f"{len(pins) - len(missing)} packages, {sum(map(len, found)):,} files", *missing, sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
