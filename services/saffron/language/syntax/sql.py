"""Hints for users who write SQL, or the language of another engine: words and signs that are none here, and null."""

from __future__ import annotations

from collections.abc import Mapping

_NULL_HINT = "A comparison with null is false: write {name} IS NULL or {name} IS NOT NULL."
_NULLS = frozenset({"null", "none", "nil", "undefined"})

HINTS: Mapping[str, str] = {
    "ilike": "There is no ILIKE: write lower(a.x) LIKE 'abc%'.",
    "similar": "There is no SIMILAR TO: write a.x REGEXP '^(a|b)$'.",
    "limit": "There is no LIMIT: OUTPUT FIRST gives, for each first event, the match that ends first.",
    "order": "There is no ORDER BY: results come in the order of the events that complete them.",
    "join": "There is no JOIN: a pattern relates events of one stream, as in SEQ(A a, B b) WHERE a.x = b.x.",
    "partition": "There is no PARTITION BY: WHERE [user] asks that all events of a match have the same user.",
    "window": "There is no WINDOW: WITHIN 1 hour says how far apart; WITHIN 1 hour SLIDE 1 hour makes windows.",
    "define": "There is no DEFINE: conditions stand in WHERE, as in WHERE a.x > 1 AND b.x > a.x.",
    "measures": "There is no MEASURES: RETURN says what a result holds, as in RETURN a.x AS x.",
    "followed": "Write a sequence as SEQ(A a, B b).",
    "then": "Write a sequence as SEQ(A a, B b).",
    "->": "Write a sequence as SEQ(A a, B b).",
    "~": "Write a.x REGEXP '^abc' for a regular expression, NOT a.x = 1 for what must not hold.",
    "=>": "Write a.x >= 1.",
    "=<": "Write a.x <= 1.",
    "&&": "Conditions are joined by AND.",
    "every": "Matches begin at every event that fits: leave EVERY out.",
    "with": "WITH TIMEOUTS stands in OUTPUT: OUTPUT ALL WITH TIMEOUTS.",
    "as": "AS names a value of RETURN; in PUBLISH it stands before KEY. A variable follows its type without AS: A a.",
    "key": "KEY stands at the end of PUBLISH: PUBLISH 'alerts' KEY a.x.",
    "into": "INTO stands in RETURN, behind its values: RETURN a.x AS x INTO Found.",
    "<<": "Bits are moved by a function: shift(a.x, 4), to the right by shift(a.x, -4).",
    "distinct": "There is no DISTINCT in an aggregate: GROUP BY gives a result for each value.",
    "interval": "Write a duration as 5 minutes.",
    "within": "WITHIN stands behind the pattern's last bracket; a NOT for a time is NOT B FOR 5 minutes.",
    "**": "Write power(a.x, 2).",
    "===": "Write a.x = 1.",
    "//": "A comment begins with --.",
    "/*": "A comment begins with --, and ends with its line.",
    "till": "A strategy has hyphens: skip-till-next-match, skip-till-any-match.",
    "contiguity": "A strategy has hyphens: strict-contiguity, partition-contiguity.",
    "until": "UNTIL stands in the pattern, behind a repetition: A+ a[] UNTIL C c.",
    "where": "Conditions stand behind the pattern: WHERE a.x > 1.",
    "seq": "The pattern stands behind PATTERN: PATTERN SEQ(A a, B b).",
    "over": "Write WITHIN 1 hour.",
    "tumbling": "Write WITHIN 1 hour SLIDE 1 hour for windows that follow each other.",
    "hopping": "Write WITHIN 1 hour SLIDE 10 minutes for windows that follow each other.",
    "contains": "Write a.x LIKE '%abc%', or contains(a.x, 'abc') of an array.",
    "starts": "Write starts_with(a.x, 'abc').",
    "ends": "Write a.x LIKE '%abc'.",
    "equals": "Write a.x = 1.",
    "match_recognize": "Write PATTERN SEQ(A a, B b) WHERE [user] AND a.x > 1 WITHIN 1 hour.",
    "create": "There is no CREATE: a query begins with QUERY name, and saffron query add registers it.",
    "insert": "Results go to a topic by PUBLISH 'alerts', to other queries by RETURN a.x INTO Found.",
    "select": "There is no SELECT: RETURN says what a result holds, as in RETURN a.x AS x.",
}
"""Word in lower case, or sign -> its replacement."""

COMMAS: Mapping[str, str] = {
    "pattern": "A pattern of several components is a sequence: SEQ(A a, B b).",
    "conditions": "Conditions are joined by AND.",
    "returns": "RETURN * adds nothing to the events: leave it out.",
}
"""What a query has in front of a comma that stands where a clause should begin -> what to write."""

SIDE_BY_SIDE: Mapping[str, str] = {
    "conditions": "Conditions are joined by AND.",
    "returns": "Values have commas between them: RETURN a.x, b.x.",
    "consume": "Variables have commas between them: CONSUME a, b.",
    "group": "Attributes have commas between them: GROUP BY x, y.",
}
"""What a query has in front of one more, with nothing between them -> what to write."""

BEHIND: Mapping[str, str] = {
    "interval": HINTS["interval"],
    "date": "Write a time as TIMESTAMP '2026-05-01'.",
    "and": "Conditions stand together: WHERE a.x > 1 AND b.x > 1.",
    "or": "Conditions stand together: WHERE a.x > 1 OR b.x > 1.",
    "in": "Write WITHIN 1 hour.",
}
"""A word in front of a string or a number, or a word that stands where a clause should begin -> what to write."""

_FUNCTIONS: Mapping[str, str] = {
    "length(a.x)": "len size",
    "position(a.x, 'abc')": "strpos instr locate charindex",
    "a.x REGEXP '^abc'": "regexp_like regexp_matches matches",
    "coalesce(a.x, 0)": "ifnull nvl",
    "a.x IS NULL": "isnull",
    "CASE WHEN a.x > 1 THEN 'high' ELSE 'low' END": "if iif decode",
    "a.x % 5": "mod",
    "ln(a.x) or log10(a.x)": "log",
    "substring(a.x, 1, 3)": "left right mid",
    "b[i-1].x, of the event before b[i] in a list; in an aggregate query A.x < NEXT(A).x": "prev previous lag",
    "a[last].x, of the last event of a list": "last last_value",
    "a[1].x, of the first event of a list": "first first_value",
    "a.x IS NOT NULL": "exists",
    "hour(a.ts), day_of_week(a.ts) or date_trunc('month', a.ts)": "extract date_part datepart",
    "a.ts, the event's time: a query has no clock, so that its results repeat": "now current_timestamp getdate sysdate",
}
"""Advice -> functions of other languages that it replaces, whose names are unlike ours."""
_FOREIGN = {name: written for written, names in _FUNCTIONS.items() for name in names.split()}


def foreign_function(name: str) -> str:
    """The hint for a function that other languages have; "" if none of those is known."""
    return f"Write {_FOREIGN[name]}." if name in _FOREIGN else ""


def is_null(name: str) -> bool:
    """True if a bare name is a spelling of null in SQL or a programming language."""
    return name.lower() in _NULLS


def null_hint(read: str) -> str:
    """The hint for a comparison with null. `read`: an attribute as the query would write it, such as a.x."""
    return _NULL_HINT.format(name=read)
