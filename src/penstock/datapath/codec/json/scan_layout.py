"""The tables that the scanner goes by, and the memory that it works in: which number lies where.

The scanner is compiled once for all schemas. So what a schema says is data: a tree of nodes in
which every field, item and key of a map has a number, parents before children.

    {"id": 1, "user": {"tags": ["a"]}}

    0 the event   1 id   2 user   3 user.tags   4 user.tags[]

A node outside of all lists has one value per record, and is called *flat*: its values have their
place before anything is read. What is inside of lists is noted in a log, in the order in which it
is read, and is put into columns when the number of items is known.
"""

from typing import NamedTuple

from penstock.datapath.codec.shared.byte_gather import Numbers, Octets

# The kinds of nodes. Those from STRUCT on have members or items.
INTEGER, DOUBLE, BOOLEAN, TEXT, SCALARS, JSON, STRUCT, LIST, MAP, GHOST = range(10)

# What the table says of a node; -1 where there is no such thing.
(
    KIND,
    PARENT,
    REQUIRED,  # 1 if null is refused
    KEY_AT,  # its name among the names, with a quote behind it
    KEY_SIZE,
    LABEL_AT,  # its name as it is written in `_rest`: quoted, with a colon
    LABEL_SIZE,
    FIRST,  # of its members; of a map: its keys
    NEXT,  # the next member of the same object
    ITEM,  # of a list or a map
    FLAT,  # its row in the values of flat nodes
    LIST_NUMBER,  # of a list or a map among all of them
    WIDTH,  # how many values an item becomes, 0 if items are not objects
    WATCH,  # what is done with its values besides; see below
    CAPTURE,  # the row of values that has its captured texts
    MUST_HAVE,  # how many members of it are required
    LOW,  # the least number that it may have; of scalars: a bit for each kind that it takes
    HIGH,
) = range(18)
NODE_FIELDS = 18

WATCH_NOTHING, WATCH_ALL, WATCH_TAG = 0, 1, 2

# What became of a record.
READ, REFUSED, OTHER_TAG, AGAIN = range(4)

# The kinds of values as conflicts name them, by number.
FOUND = (
    "object",
    "array",
    "string",
    "boolean",
    "null",
    "integer",
    "fraction",
    "number out of range",
)
OBJECT, ARRAY, STRING, TRUTH, NULL, WHOLE, FRACTION, OUT_OF_RANGE = range(8)
KINDS = len(FOUND)
ALL_KINDS = -1  # a bit for each kind

# The cells: numbers that the scanner remembers. First single ones.
(
    LOG_USED,
    REST_USED,
    LATER_USED,
    SLOTS_USED,
    GOOD,  # how many records were read
    SERIAL,  # of objects, lists and maps
    EMPTY_VALUES,  # values that said nothing, of the records that were read
    ITEM_VALUES,  # values of objects in lists, of the records that were read
    MY_EMPTY,  # the same of the record that is being read
    MY_ITEM_VALUES,
    MY_UNKNOWN,
    MY_MISFITS,
    MY_PIECES,
    LIST_HAS_REST,
    TAG_SEEN,
    TAG_START,
    TAG_END,
    FORCED_USED,
    # What does not change.
    IS_DECLARED,
    HAS_TAG,
    TAG_AT,  # the text of the tag, among the names
    TAG_SIZE,
    MAX_DEPTH,
    MAX_VALUES,
    MAX_BYTES,
    NODES,
    LISTS,
    FLAT_ROWS,
    CAPTURES,
    TABLE_SIZE,  # of the hash table of members
    STRIDE,  # how many slots a row of values has
    LOG_ROOM,
    REST_ROOM,
) = range(33)

# Then lists of a fixed length. The stack: what is being read.
STACK = 40
FRAME_NODE, FRAME_SLOT, FRAME_START, FRAME_SERIAL, FRAME_COUNT, FRAME_BEFORE, FRAME_REQUIRED = (
    range(7)
)
FRAME_FIELDS = 7
DEEPEST = 64  # levels that the scanner can tell apart

# Fields without a column of the present record.
UNKNOWN = STACK + (DEEPEST + 1) * FRAME_FIELDS
(
    UNKNOWN_HASH,
    UNKNOWN_SERIAL,  # of the object that has it
    UNKNOWN_NODE,
    UNKNOWN_KEY,
    UNKNOWN_KEY_END,
    UNKNOWN_START,
    UNKNOWN_END,
    UNKNOWN_SAYS,
) = range(8)
UNKNOWN_FIELDS = 8
MOST_UNKNOWN = 512
ORDER = UNKNOWN + MOST_UNKNOWN * UNKNOWN_FIELDS  # the same by name

# Values of the present record that did not fit: node and kind.
MISFITS = ORDER + MOST_UNKNOWN + 1
MOST_MISFITS = 128

# Lists and maps of the present record that must be left out: start, and which value did not fit.
FORCED = MISFITS + 2 * MOST_MISFITS
MOST_FORCED = 16

# Doubles that Python has to convert: row (or -1), slot or place in the log, start, end.
LATER = FORCED + 3 * MOST_FORCED
MOST_LATER = 512

# The keys of maps that are being read, as hashes.
MAP_KEYS = LATER + 4 * MOST_LATER
MOST_KEYS = 64

# Fields without a column of all records, by object and name: a hash table.
MET = MAP_KEYS + (DEEPEST + 1) * MOST_KEYS
MET_PLACES = 512
MOST_MET = 384
TRIES = 4  # values that are kept of each, to see whether a column could hold them
(MET_HASH, MET_NODE, MET_KEY, MET_KEY_END, MET_TRIES) = range(5)
MET_COUNTS = 5
MET_FIRSTS = MET_COUNTS + KINDS
MET_LASTS = MET_FIRSTS + KINDS
MET_VALUES = MET_LASTS + KINDS
MET_FIELDS = MET_VALUES + 3 * TRIES

# Then what there is for each node: the object in which it was seen last; marks while `_rest` is
# written; members whose text goes to `_rest`; how many records had a value that did not fit, and
# the first of them, by kind.
BY_NODE = MET + MET_PLACES * MET_FIELDS
NODE_SEEN, NODE_BELOW, NODE_PIECE, NODE_NUMBER = range(4)
PIECES = 4  # three for each: node, start, end
CONFLICTS = 7
BY_NODE_FIELDS = CONFLICTS + 2 * KINDS
# Last, how many items each list has, now and before the present record.


SCRATCH = 4_096


class Scan(NamedTuple):
    """All that a scan needs. A `slot` is the number of a good record, or of an item.

    data     the bytes of all records
    nodes    the tree
    links    a hash table of members, by object and name; then, by node, which member came last
             after it, and which one came first in it: this changes with every record
    names    of members, as they are and as they are written; the text of the tag
    values   of flat nodes: a number, or where a text lies; then the captured texts
    log      of nodes in lists: node and slot, and value
    rest     the texts for `_rest`
    rest_at  where that of each good record lies, or -1
    scratch  room for a name without its escapes
    """

    data: Octets
    nodes: Numbers
    links: Numbers
    names: Octets
    cells: Numbers
    values: Numbers
    valid: Octets
    log: Numbers
    rest: Octets
    rest_at: Numbers
    scratch: Octets
