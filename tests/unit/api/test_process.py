"""A program that imports Saffron keeps its process as it was: no setting of Python or of a library changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import csv, decimal, gc, io, json, locale, logging, os, resource, signal, sys, threading, warnings
import fastavro, google.protobuf, multiprocessing, numba, numpy, orjson, pandas, pyarrow, pyarrow.parquet

def state():
    return {
        "fastavro": (dict(fastavro.read.LOGICAL_READERS), dict(fastavro.write.LOGICAL_WRITERS)),
        "csv": (csv.field_size_limit(), csv.list_dialects()),
        "decimal": str(decimal.getcontext()),
        "numpy": (numpy.geterr(), numpy.get_printoptions()),
        "pyarrow": (pyarrow.cpu_count(), pyarrow.io_thread_count(), pyarrow.default_memory_pool().backend_name),
        "pandas": pandas.describe_option(_print_desc=False),
        "numba": {name: value for name, value in vars(numba.config).items() if name.isupper()},
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()),
        "recursion": sys.getrecursionlimit(),
        "switching": sys.getswitchinterval(),
        "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook, sys.displayhook),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "logging": (logging.root.level, list(logging.root.handlers)),
        "warnings": list(warnings.filters),
        "environment": dict(os.environ),
        "locale": locale.setlocale(locale.LC_ALL),
        "limits": [resource.getrlimit(getattr(resource, one)) for one in dir(resource) if one.startswith("RLIMIT_")],
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "processes": multiprocessing.get_start_method(allow_none=True),
        "folder": os.getcwd(),
        "threads": sorted(one.name for one in threading.enumerate()),
    }

before = state()
import saffron
from saffron.engine.events.formats.avro import avro_reader
text = "QUERY q PATTERN A a WITHIN 1 s RETURN a.x AS x"
schema = {"type": "record", "name": "A", "fields": [{"name": "x", "type": "long"}]}
assert avro_reader(json.dumps(schema))(b"\\x02")
with open("long.csv", "w") as file:
    file.write("type,ts,x\\nA,1," + "y" * 200_000 + "\\nA,2,b\\n")
assert len(list(saffron.replay(text, "long.csv"))) == 2
stopped = iter(saffron.replay(text, "long.csv"))
assert next(stopped).returns["x"] == "y" * 200_000
stopped.close()
pyarrow.parquet.write_table(pyarrow.table({"type": ["A"], "ts": [1], "x": [1]}), "one.parquet")
assert len(list(saffron.replay(text, "one.parquet"))) == 1
with saffron.open(text) as live:
    assert live.feed({"type": "A", "ts": 1, "x": 1})
after = state()
changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
assert not changed, changed
"""


def test_a_program_that_uses_saffron_keeps_its_process_as_it_was(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, cwd=tmp_path)
