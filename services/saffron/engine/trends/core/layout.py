"""Constants of a trend query's kernels: the columns of its arrays (`arrays`), and other numbers by name."""

from __future__ import annotations

LARGEST = 2**63 - 1
"""The largest exact count; beyond it counts are scaled (`numbers`)."""
NO_WINDOW = -(2**62)
NEVER = -(2**62)
"""An order before all events'."""
INFINITE = float("inf")


# ---- head: scalars of the query
NEED = 0  # the array that is full (NEED_...), 0 when the kernel is done
KEYS = 1  # rows in use: keys, groups, entries, vertices, results
GROUPS = 2
ENTRIES = 3
ARENA = 4
OUT = 5
FREE = 6  # first entry of the list of free ones, -1 for none
KLO = 7  # first window that is not closed
KHI = 8  # last window that holds a vertex
OPENED = 9  # OPEN ON: number of the next window
TOUCHED = 10  # events that were vertices since the last sweep
ROOM = 11  # how much of it is needed
SEEN = 12  # seq of the stream's last event
SPAN = 13  # size and slide of windows: not in `params`, for which kernels are made
STEP = 14
LIVE = 15  # PANED: keys with a vertex in an open window
MATRICES = 16  # PANED: matrices ever taken, and how many of them are free
RELEASED = 17
HEAD_SIZE = 18

NEED_NOTHING = 0
NEED_KEYS = 1
NEED_GROUPS = 2
NEED_ENTRIES = 3
NEED_ARENA = 4
NEED_WINDOWS = 5
NEED_OUT = 6
NEED_NODES = 7
NEED_MATRICES = 8

# ---- params: constants of the query
SIZE = 0
SLIDE = 1
IN_EVENTS = 2  # windows over positions, not time
ON_OPEN = 3  # windows opened by events
STRICT = 4  # equal timestamps are never adjacent
KEY_WIDTH = 5  # words of a key, words of a group
GROUP_WIDTH = 6
STARTS = 7  # states at which a trend may start, those at which a key may: leading negatives begin there too
OPENERS = 8
LATE = 9  # final results are known when the window closes: per key (trailing NOT, AND)
BOTH = 10  # AND: the result is the pairs of trends of sides 0 and 1, side 2 being what both match
MARKED = 11  # there are negatives
STORED = 12  # attributes kept with a vertex
ALL_MARKED = 13  # vertices carry all marks
PANED = 14  # windows share the matrices of panes (`kernels.panes`)
COUNTED = 15  # of the numbers, those that are counts: they come first, then sums
PARAMS_SIZE = 16

# ---- states [S, 14]
IS_START = 0
IS_END = 1
LIST = 2  # index of its vertex list, -1 for none
ENTERING = 3  # the first transition into it, and their number
ENTERING_SIZE = 4
FEEDING = 5  # the first total that it feeds, and their number
FEEDING_SIZE = 6
LEADING = 7  # mask of negatives
TRAILING = 8
NEGATIVE = 9  # the negative of which it is a state, -1 for none
SIDE = 10
FINAL = 11  # index of the total from which results are read when the window closes, -1 for its list
SINGLE = 12  # its list holds its last vertex only
HELD_BACK = 13  # its list holds only vertices that wait for trees (TIME STRICT)
STATE_SIZE = 14

# ---- transitions [T, 10], those into one state together
SOURCE = 0
CONDITION = 1  # number of the condition in `select`, -1 for none
SUM = 2  # index of the total that it reads, -1: the list of its source
ABSENCES = 3  # mask of negatives
STRATEGY = 4
BIT = 5  # skip-till-next-match: its bit in X_TAKEN, and the bits that it sets
ENDS = 6
EMPTIED = 7  # skip-till-next-match: totals (mask) that it empties when it takes an event
WAITS = 8  # whether it ends some waiting, or is ended
TREE = 9  # index of the tree that it asks, -1: the list of its source
TRANSITION_SIZE = 10

ANY = 0
NEXT = 1
PARTITION = 2
CONTIGUOUS = 3


# ---- trees [trees, 6]
T_SOURCE = 0  # the state of its vertices
T_COLUMN = 1  # where in the row of a key its root is
T_BARRIERS = 2  # mask of negatives that end what is in it
T_LOW = 3  # places of bounds among equal keys (`ordered`)
T_HIGH = 4
T_UNEQUAL = 5  # what it is asked is all but one value
TREE_SIZE = 6

# ---- measures [A + B, 3]: what each number and extreme is
M_FUNCTION = 0
M_ATTRIBUTE = 1  # row of the attribute, -1 for none
M_SPLIT = 2  # row of the attribute in `mantissas`
F_COUNT = 0
F_SUM = 1
F_LEAST = 2
F_GREATEST = 3

# ---- keys [n, 1 + words + 4 + 4 * lists + trees] and groups [n, 1 + words + 1]: hash, words, then
AFTER_GROUP = 0  # keys: row of the group
AFTER_LAST = 1  # keys: last window touched (its slots, and all earlier ones that are open, are valid)
AFTER_TIME = 2  # keys, TIME STRICT: the ts of the pending totals
AFTER_SEEN = 3  # keys: seq of its last event
AFTER_LISTS = 4
GROUP_LAST = 0  # groups: last window whose slot in `where` is valid

LIST_SIZE = 4  # of each list: first row in the arena, rows expired at its front, rows in use, rows owned
FIRST_ROW = 0
EXPIRED = 1
USED = 2
OWNED = 3

# ---- absent [keys, negatives, 4] and latest [keys, negative totals, 4]
P_ORDER = 0  # the latest start of the trends finished so far: its order, the last window that holds it
P_WINDOW = 1
P_NEW_ORDER = 2  # TIME STRICT: the same, of trends that end at the key's present ts
P_NEW_WINDOW = 3
MARK_SIZE = 4

# ---- panes [keys, 5], PANED
PANE_MIDDLE = 0  # the first pane that is not in the front stack
PANE_FRONT = 1  # the first pane of that stack that is asked for
PANE_KNOWN = 2  # the pane for which the matrix in slot K + 1 holds the result, NO_WINDOW: none
PANE_LISTED = 3  # whether the key is among those of PANE_ROW
PANE_ROW = 4  # in row j: the j-th of LIVE keys
PANE_SIZE = 5

# ---- entries [n, 6]
E_GROUP = 0
E_FIRST = 1  # seq of the group's first vertex in the window
E_TIME = 2  # message time of its last end vertex
E_NEXT = 3  # next entry of the window, or of the free list
ENTRY_SIZE = 4

# ---- slots [K, 5]
S_FIRST = 0
S_LAST = 1
S_ENTRIES = 2
S_LOW = 3  # OPEN ON: where the window begins, and the seq of the event that opened it
S_SEQ = 4
SLOT_SIZE = 5

# ---- marks [vertices, 3 or more]
M_ORDER = 0
M_LAST = 1  # last window the vertex lies in
M_SCALED = 2  # 1 when any of its numbers but an unscaled count is not 0
MARKS = 3
X_SEQ = 3  # this mark and those below: with ALL_MARKED only
X_TAKEN = 4  # transitions by which it is taken already; those by which event X_NEW_SEQ took it
X_NEW = 5
X_NEW_SEQ = 6
X_ORDER = 7  # negative graphs: the latest start of the trends that end here, and the last window that holds it
X_WINDOW = 8
ALL_MARKS = 9

# ---- out [n, 5 + group words]
O_POSITION = 0
O_LOW = 1  # the window's bounds [low, high)
O_FIRST = 2
O_TIME = 3
O_SEQ = 4  # OPEN ON: the event that opened the window, else -1
O_WORDS = 5


# ---- key flag
OF_KEY = 62

# ---- sign bit of an event's states: it was dropped for the query, as if it had not come
DROPPED = -(2**63)
