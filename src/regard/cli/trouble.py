"""Errors in one line with an exit code: 2 for what the user can correct, 1 for faults of regard.

Errors are known by name where their class would cost an import.

    told(FileNotFoundError(2, "No such file", "a.tsv"))  →  (2, "a.tsv: no such file or directory; …")
"""

import errno

from regard.errors import RegardError

__all__ = ["told"]

advice = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "part of this path is a file; use another path",
    errno.EISDIR: "give a file, not a folder",
    errno.EEXIST: "use another path",
    errno.EACCES: "check the permissions, or use another path",
    errno.EPERM: "check the permissions, or use another path",
    errno.EROFS: "use a path that is writable",
    errno.ENOSPC: "free some space, then repeat the command to resume",
    errno.EDQUOT: "free some space, then repeat the command to resume",
}
no_memory = "ran out of memory; lower train.batch_tokens, or use a smaller model"


def told(error: BaseException) -> tuple[int, str]:
    """Exit code and line for an error; the line is empty where there is nothing to say."""
    name, text = type(error).__name__, " ".join(str(error).split())
    if isinstance(error, KeyboardInterrupt):
        return 130, ""
    if isinstance(error, BrokenPipeError):  # whoever read our output has enough
        return 141, ""
    if isinstance(error, RegardError):
        return 2, str(error)
    if hasattr(error, "format_message"):  # the command line itself could not be read
        return 2, _misused(error)
    if isinstance(error, MemoryError) or name == "OutOfMemoryError" or "allocate memory" in text:
        return 2, no_memory
    if isinstance(error, OSError):
        reason = (error.strerror or text or name).lower()
        where = f"{error.filename}: " if error.filename is not None else ""
        return 2, f"{where}{reason}; {advice.get(error.errno or 0, 'check the file and its folder')}"
    if name == "SafetensorError":  # how safetensors tells of a disk that is full, too
        return 2, f"cannot read or write the weights ({text}); check the folder and the free disk space"
    return 1, f"internal error in regard ({name}: {text}); use --debug to see the traceback"


def _misused(error: BaseException) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")  # type: ignore[attr-defined]
    option = str(getattr(error, "option_name", ""))
    if "." in option:
        return f"no option {option}; write {option.lstrip('-')}=value without dashes"
    verb = getattr(getattr(error, "ctx", None), "command_path", "regard")
    return f"{message[:1].lower()}{message[1:]}; see {verb} --help"
