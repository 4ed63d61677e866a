"""The marked block of a Markdown file that the program writes, so that no number in it is ever typed."""

from pathlib import Path

from dualwm.errors import DataError
from dualwm.files import write_whole


def replace_block(text: str, name: str, content: str, where: str = "the text") -> str:
    """`text` with what stands between `<!-- NAME:begin -->` and `<!-- NAME:end -->` replaced."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise DataError(
            f"{where}: expected one line {begin} and one line {end} after it, found {text.count(begin)} and "
            f"{text.count(end)}. Put the two comments where the generated block belongs."
        )
    before, rest = text.split(begin)
    return f"{before}{begin}\n{content.strip()}\n{end}{rest.split(end)[1]}"


def update_readme(path: Path, content: str, name: str = "results") -> bool:
    """Replace a marked block of a file; whether anything changed."""
    if not path.exists():
        raise DataError(f"{path}: there is no such file to write the block {name!r} into. Name the README to update.")
    old = path.read_text(encoding="utf-8")
    new = replace_block(old, name, content, str(path))
    if new != old:
        write_whole(path, new)
    return new != old
