"""A check that bytes are well-formed UTF-8."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine.kernels.jit import inlined


@inlined
def is_utf8(buffer, start, end):
    """True where buffer[start:end] (uint8) is UTF-8 by RFC 3629: no overlong forms, surrogates, or > U+10FFFF."""
    p = start
    while p < end:
        lead = buffer[p]
        if lead < 0x80:
            p += 1
            continue
        if 0xC2 <= lead <= 0xDF:
            length = 2
        elif 0xE0 <= lead <= 0xEF:
            length = 3
        elif 0xF0 <= lead <= 0xF4:
            length = 4
        else:
            return False
        if p + length > end:
            return False
        second = buffer[p + 1]
        low, high = 0x80, 0xBF
        if lead == 0xE0:
            low = 0xA0
        elif lead == 0xED:
            high = 0x9F
        elif lead == 0xF0:
            low = 0x90
        elif lead == 0xF4:
            high = 0x8F
        if second < low or second > high:
            return False
        for k in range(2, length):
            if buffer[p + k] & 0xC0 != 0x80:
                return False
        p += length
    return True
