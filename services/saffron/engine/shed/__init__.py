"""Load shedding: the shedder's operator, the overload detector's inputs, and credits.

What a shell does with it, one `ShedderOperator` per chain (stream, partition):

    operator = ShedderOperator(partition, stream)
    operator.resume(own_block)         # take-over: own output, from the last checkpoint record to the end, in order
    operator.offer(key, value, offset) # every record of `models`, up to its end before being ready, then as they come
    operator.observe(load_message)     # every load message of a reader of this chain
    out = operator.apply(block, now_ms=..., offset=..., appended_ms=...)
    # `out` carries counter and input position; the shell stamps its own claim and writes it. `operator.input`
    # and `operator.counter` say where to go on.

and one `Credits` per chain, which says whether the next block may be forwarded now:

    credits = Credits(window, start=operator.next_seq)
    credits.applied("matcher", next_seq, active=True, now_ms=...)      # from each load message
    if not operator.has_queries or credits.admits(block.next_seq - block.first_seq, now_ms): forward it, then
    credits.forwarded(block.next_seq)
"""

from saffron.engine.shed.credits import Credits
from saffron.engine.shed.operator import ShedderOperator

__all__ = ["Credits", "ShedderOperator"]
