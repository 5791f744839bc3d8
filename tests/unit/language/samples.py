"""Schemas and queries that several tests use."""

from __future__ import annotations

from saffron.schema.schema import Kind, Schema

STOCK = Schema(
    {"symbol": Kind.STRING, "price": Kind.FLOAT, "volume": Kind.INT, "sector": Kind.STRING},
    {"Stock": ("symbol", "price", "volume", "sector")},
    {},
)
LETTERS = Schema(
    {"x": Kind.FLOAT, "y": Kind.INT, "k": Kind.STRING, "flag": Kind.BOOL, "only_d": Kind.INT},
    {"A": ("x", "y", "k", "flag"), "B": ("x", "y", "k", "flag"), "C": ("x", "y", "k", "flag"), "D": ("x", "only_d")},
    {},
)
_NAMES = {"x": Kind.INT, "f": Kind.FLOAT, "s": Kind.STRING, "t": Kind.BOOL, "k": Kind.INT, "g": Kind.STRING}
ATTRIBUTES = Schema(_NAMES, {name: tuple(_NAMES) for name in "ABC"}, {})
"""What the random queries of tests/reference/match name."""

RALLY = """
QUERY rally                                  -- optional name (else the file's)
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip-till-next-match {
  [symbol] AND a[1].volume > 1000
  AND a[i].price > avg(a[..i-1].price)
  AND b.volume < 0.8 * a[last].volume }
WITHIN 1 hour
RETURN a[1].symbol, a[last].price - a[1].price AS gain, count(a[])
"""

PAPERS = {
    "N query 1": """PATTERN SEQ(Shelf a, ~(Register b), Exit c)
        WHERE skip_till_next_match(a, b, c) { a.tag_id = b.tag_id and a.tag_id = c.tag_id } WITHIN 12 hours""",
    "N query 1, key": "PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours",
    "N query 2": """PATTERN SEQ(Alert a, Shipment+ b[ ]) WHERE skip_till_any_match(a, b[ ]) {
        a.type = 'contaminated' ∧ b[1].from = a.site ∧ b[i].from = b[i-1].to } WITHIN 3 hours""",
    "N query 3": """PATTERN SEQ(Stock+ a[ ], Stock b) WHERE skip_till_next_match(a[ ], b) {
        [symbol] ∧ a[1].volume > 1000 ∧ a[i].price > avg(a[..i-1].price) ∧ b.volume < 80% * a[a.len].volume }
        WITHIN 1 hour""",
    "N benchmark": """pattern(stock+ a[ ], stock b) where partition_contiguity {[symbol] ∧ a[1].price %500==0 ∧
        a[i].price > min(a[..i-1].price) ∧ b.volume < 150} within 500 events""",
    "N query p3*": """PATTERN SEQ(Stock+ a[], Stock b, Stock c) WHERE skip-till-next-match { [symbol]
        AND a[i].price > max(a[..i-1].price) AND c.price > a[1].price AND c.price < a[a.len].price }
        WITHIN 500 EVENTS OUTPUT NON-OVERLAP""",
    "X Q1": """Pattern seq(JobStart a, Mapper+ b[ ], JobEnd c) Where a.job_id = b[i].job_id ∧ a.job_id=c.job_id
        Within 1 day Return avg(b[ ].period), max(b[ ].period)""",
    "X Q2": """Pattern seq(JobStart a, Reducer+ b[ ], JobEnd c) Where [job_id] Within 1 day
        Return avg(b[ ].period), max(b[ ].period)""",
    "X Q3": """Pattern seq(ReducerStart a, DataPull+ b[ ]) Where [task_id] ∧ (b[b.len].period > 2×avg(b[ ].period))
        Within 10 minutes Return a.(task_id, period)""",
    "X Q4": """Pattern seq(JobStart a, DataIO+ b[ ]) Where [task_id] Within 1 day
        Return a.timestamp, b[b.LEN].timestamp, sum(b[ ].size)""",
    "X Q5": """Pattern seq(Balance a, ReducerStart b, Imbalance+ c[], ReducerEnd d, Balance e) Where [task_id]
        Within 10 minutes Return a.task_id""",
    "X Q6, option 1": """Pattern seq(ReducerStart a, LoadStd+ b[ ], ReducerEnd c) Where [task_id] ∧
        (b[i].val ≥ b[i-1].val) Within 10 minutes Return a.task_id""",
    "X Q6, option 2": """Pattern seq(ReducerStart a, LoadStd+ b[ ], ReducerEnd c) Where [task_id] ∧
        (b[i].val ≥ max(b[1..i-1].val)) Within 10 minutes Return a.task_id""",
    "X figure 2": "PATTERN(a, b+, c) WITHIN 10 s",
    "X 5": "PATTERN SEQ(A a, B+ b[], C c) WHERE [task_id] ^ b[i].val >= b[i-1].val WITHIN 100 ms",
    "X closures": "PATTERN SEQ(A a, B b)+ | SEQ(A c, ~SEQ(A d, B e), C f) WITHIN 100 ms",
    "T Q1": """RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company,sector] AND S.price > NEXT(S).price
        GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds""",
    "T Q1, variant": """RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company,sector] AND
        S.price * 1.05 < NEXT(S).price GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds""",
    "T Q2": """RETURN mapper, SUM(M.cpu) PATTERN SEQ(Start S, Measurement M+, End E) WHERE [job,mapper] AND
        M.load < NEXT(M).load GROUP-BY mapper WITHIN 1 minute SLIDE 30 seconds""",
    "T Q3": """RETURN segment, COUNT(*), AVG(P.speed) PATTERN SEQ(NOT Accident A, Position P+)
        WHERE [P.vehicle,segment] AND P.speed > NEXT(P).speed GROUP-BY segment WITHIN 5 minutes SLIDE 1 minute""",
    "T example": "RETURN COUNT(*) PATTERN (SEQ(A+, NOT SEQ(C, NOT E, D), B))+ TIME STRICT WITHIN 10 s SLIDE 3 s",
    "T figure 13": "RETURN COUNT(*), COUNT(A), MIN(A.x) PATTERN SEQ(A+, B, A, A+, B+) WITHIN 1 day",
    "P Q1": """PATTERN seq(RE1; RE2; RE3) OR seq(FE1; FE2; FE3) WITHIN 3500 EVENTS OPEN ON Quote q
        WHERE q.symbol IN ('AAPL', 'MSFT')""",
    "P Q3": "PATTERN SEQ(STR s; any(2, DF1, DF2, DF3)) WITHIN 15 seconds OPEN ON STR",
    "P Q4": "PATTERN ANY(3, Bus b[]) DISTINCT bus_id WHERE [stop] WITHIN 8000 EVENTS SLIDE 500 EVENTS",
    "G": "PATTERN SEQ(A a, B b, C c) WHERE skip-till-any-match WITHIN 250 s SLIDE 10 s CONSUME a",
    "page": """QUERY all.of-it FROM orders PATTERN SEQ(A a, B{2,5} b[], C? c, D* d[]) WHERE
        skip-till-any-match, strict-contiguity(b[i]), skip-till-next-match(c) { [x, y] AND NOT a.x IN (1, 2) }
        HAVING COUNT(*) > 3 WITHIN 1 h RETURN a.x INTO Big OUTPUT FIRST WITH TIMEOUTS CONFIDENCE >= 0.5
        TIME STRICT WEIGHT 2 EMIT VALUES PUBLISH 'alerts' KEY a.x""",
}
"""Queries as the papers print them (N figure 1, X tables 1 and 5, T section 1, P section IV), and the whole grammar."""
