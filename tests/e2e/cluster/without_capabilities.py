"""Runs a command as `capabilities: {drop: [ALL]}` does: even root may do only what the files' modes allow."""

from __future__ import annotations

import ctypes
import os
import sys

_PR_CAPBSET_DROP, _CAPABILITIES = 24, 41

if __name__ == "__main__":
    process = ctypes.CDLL(None)
    for capability in range(_CAPABILITIES):
        process.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.execv(sys.argv[1], sys.argv[1:])
