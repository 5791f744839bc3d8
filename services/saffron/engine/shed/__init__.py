"""Load shedding: the shedder's operator, which decides the drops of each block, and credits.

What a shell does with one chain (stream, partition), which has one `ShedderOperator` and one `Credits`; `shedder.hop`
is that shell:

    operator = ShedderOperator(partition, stream, overload)  # `overload`: the latency bound; None: nothing is dropped
    operator.resume(own_block)            # take-over: own output, from the last checkpoint record to the end, in order
    credits = Credits(window, start=operator.next_seq)
    operator.offer(key, value, offset)    # every record of `models`: up to its end before being ready, then as it comes

    # a load message of a reader of this chain (matcher, greta)
    credits.applied("matcher", next_seq, active=True, now_ms=...)
    operator.observe(load_message)

    # a block of `windows` that is read, in order; it waits in the shell's queue
    operator.arrived(events, appended_ms)

    # the first block of the queue may be forwarded when the readers have credit, and when the bound lets it follow
    # what is in flight (events that were forwarded and not applied yet)
    if credits.admits(events, now_ms) and (events == 0 or operator.may_go(credits.in_flight(now_ms))):
        out = operator.apply(block, now_ms=..., offset=..., appended_ms=..., in_flight=credits.in_flight(now_ms))
        credits.forwarded(out.next_seq)

`out` carries counter and input position; the shell stamps its own claim and writes it. `operators.operator.input` and
`operators.operator.counter` say where to go on. Without a bound `arrived` does nothing, and `may_go` is always true.
"""
