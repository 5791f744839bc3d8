"""Load shedding: the shedder's operator, which decides the drops of each block, and credits.

A chain (stream, partition) has one `ShedderOperator` and one `Credits`. Its shell, `shedder.hop`, uses them so:

    # `overload` is the latency bound; None: nothing is dropped
    operator = ShedderOperator(partition, stream, overload)
    # take-over: the chain's own output, from the last checkpoint record to the end, in order
    operator.resume(own_block)
    credits = Credits(window, start=operator.next_seq)
    # every record of `models`: up to its end before being ready, then as it comes
    operator.offer(key, value, offset)

    # a load message of a reader of this chain (matcher, greta)
    credits.applied("matcher", next_seq, active=True, now_ms=...)
    operator.observe(load_message)

    # a block of `windows` that is read, in order; it waits in the shell's queue
    operator.arrived(events, appended_ms)

    # The first block of the queue may be forwarded when the readers have credit and the bound lets it follow what is
    # in flight: events that were forwarded and are not applied yet.
    if credits.admits(events, now_ms) and (events == 0 or operator.may_go(credits.in_flight(now_ms))):
        out = operator.apply(block, now_ms=..., offset=..., appended_ms=..., in_flight=credits.in_flight(now_ms))
        credits.forwarded(out.next_seq)

`out` carries counter and input position; the shell stamps its own claim and writes it. `operators.operator.input` and
`operators.operator.counter` say where to go on. Without a bound `arrived` does nothing, and `may_go` is always true.
"""
