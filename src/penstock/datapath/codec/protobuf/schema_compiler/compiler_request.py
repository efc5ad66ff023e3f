"""What the driver and the process that compiles Protobuf schemas say to each other, in files."""

from penstock.model.value import Value

QUESTION, ANSWER = "question", "answer"
REFUSED = 3  # a code of our own, since Python ends with 1 for faults that are not the schema's


class ProtoQuestion(Value, frozen=True):
    """A schema, and the files that it imports with the paths by which it does.

    `is_file`: the text is what a file of the configuration holds, words or a set of descriptors;
    of a set the file counts that declares `message`.
    """

    text: str
    references: tuple[tuple[str, str], ...] = ()
    is_file: bool = False
    message: str = ""


class ProtoAnswer(Value, frozen=True):
    """The JSON of the tree; or where and why there is none."""

    tree: str = ""
    path: str = ""
    why: str = ""
