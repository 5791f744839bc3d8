"""As much of curl as docs/control.md uses: `curl.py [-X METHOD] [-H HEADER] [-d BODY] URL`; status 1 for an error."""

from __future__ import annotations

import argparse
import sys
import urllib.error
import urllib.request

_SECONDS = 120
"""When a request hangs. A query is tried for 90 at most."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("-X", dest="method")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", dest="body")
    parser.add_argument("url")
    asked = parser.parse_args()
    request = urllib.request.Request(
        asked.url,
        method=asked.method,
        data=None if asked.body is None else asked.body.encode(),
        headers=dict(header.split(": ", 1) for header in asked.headers),
    )
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            print(answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.read().decode(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
