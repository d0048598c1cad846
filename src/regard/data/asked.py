"""Questions about documents in any of their forms: SQuAD's JSON, numbered lines, CNN's files, or rows.

A table or JSON lines have a document, a question and an answer. In JSON the answers may be written as SQuAD's, and the
words to choose from may stand under `choices`, `candidates` or `options`.

    read_asked("train-v1.1.json", fields, Reading(), log)
"""

from collections.abc import Sequence

from regard.data.cnn import is_cnn, read_cnn
from regard.data.lines import TextFile
from regard.data.numbered import is_numbered, read_numbered
from regard.data.read import Reading, form_of, read
from regard.data.readlog import ReadLog
from regard.data.squad import is_squad, read_squad
from regard.fields import Field
from regard.types import Example

__all__ = ["asks", "read_asked"]


def asks(fields: Sequence[Field]) -> bool:
    """Whether the data are questions about documents."""
    return fields[-1].about_document


def read_asked(path: str, fields: Sequence[Field], how: Reading, log: ReadLog) -> list[Example]:
    """The examples of one file, or of a folder of CNN's."""
    if how.form == "cnn" or (how.form == "auto" and is_cnn(path)):
        return read_cnn(path, how.encoding, log)
    if how.form in ("auto", "squad", "numbered"):
        file = TextFile(path, how.encoding, log)
        if how.form == "squad" or (how.form == "auto" and form_of(path) != "tsv" and is_squad(file.head)):
            return read_squad(path, file, log)
        if how.form == "numbered" or (form_of(path) == "tsv" and is_numbered(file.head)):
            if found := read_numbered(path, file.lines(), log):
                return found
            raise log.nothing(path, "no questions")
    return read(path, fields, how, log)
