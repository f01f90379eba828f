"""Paragraphs of `format=flowed` text (RFC 3676): lines that end in a space go on in the next one."""


def join_flowed(text: str, *, delete_space: bool) -> str:
    """The lines joined to paragraphs of one quote depth; with `delete_space` (DelSp=yes) the space goes.

    The line `-- ` above a signature is fixed, although it ends in a space.
    """
    out: list[str] = []
    paragraph: list[str] = []
    open_depth = 0
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        words = line.lstrip(">")
        depth = len(line) - len(words)
        words = words.removeprefix(" ")
        is_signature = words == "-- "
        # Senders who end every line in a space still mean a blank line to be one.
        if paragraph and (depth != open_depth or is_signature or not words):
            out.append(_quoted(open_depth, "".join(paragraph)))
            paragraph.clear()
        open_depth = depth
        if words.endswith(" ") and not is_signature:
            paragraph.append(words[:-1] if delete_space else words)
        else:
            out.append(_quoted(depth, "".join([*paragraph, words])))
            paragraph.clear()
    if paragraph:
        out.append(_quoted(open_depth, "".join(paragraph)))
    return "\n".join(out)


def _quoted(depth: int, words: str) -> str:
    return f"{'>' * depth} {words}" if depth else words
