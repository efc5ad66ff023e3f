"""How a sentence ends that quotes another system, which ended its own."""


def with_one_stop(sentence: str) -> str:
    """The sentence with one mark at its end; three dots stay."""
    if sentence.endswith(("..", "!.", "?.")) and not sentence.endswith("..."):
        return sentence[:-1]
    return sentence
