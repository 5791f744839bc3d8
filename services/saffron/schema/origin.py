"""The attributes of a merged stream's events that name the message that each was read from."""

from __future__ import annotations

TOPIC = "$topic"
SOURCE, PARTITION, OFFSET, NUMBER = ORDER = "$source", "$partition", "$offset", "$number"
"""The source's number in the stream's definition, the message's place, and the number of the event in the message.

Number 0 is left out. Events of one ts stand in the order of these attributes.
"""
ORIGIN = (TOPIC, *ORDER)
