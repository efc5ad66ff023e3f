"""The one error of schemas that a codec cannot use."""


class SchemaUnsupported(ValueError):
    """A schema holds something that cannot become columns: where, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"The schema cannot be used: at {path}, {why}.")
        self.path = path
        self.why = why
