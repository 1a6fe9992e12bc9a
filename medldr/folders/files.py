"""Files: written whole or not at all, read without executing anything, and run folders."""

from __future__ import annotations

import contextlib
import csv
import errno
import functools
import glob
import hashlib
import json
import mmap
import os
import shutil
import stat
import tempfile
import time
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from medldr.errors import InputError, did_you_mean_beside

if TYPE_CHECKING:
    from torch import Tensor


_ABANDONED: Final = 86_400.0
"""Seconds after which no process is still at work on a folder."""
_SEAL: Final = b"\nmedldr crc32 "
"""What stands before the checksum at the end of a file."""
_MAPPED_FROM: Final = 1 << 24
"""Bytes from which copying a checkpoint takes time."""


class StorageError(InputError):
    """A file could not be written: no space, no permission."""


@contextlib.contextmanager
def storage_errors(path: Path, needed: int | None = None) -> Iterator[None]:
    """Turn a full disk, an exceeded quota or a missing permission into one clear message."""
    try:
        yield
    except OSError as error:
        raise _explain(error, path, needed) from error
    except RuntimeError as error:
        # torch reports a failed write as a RuntimeError of its archive writer.
        if "PytorchStreamWriter" not in str(error) and "file write failed" not in str(error):
            raise
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise _explain(full, path, needed) from error


_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_IMPOSSIBLE: Final = (
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG),
)


def _explain(error: OSError, path: Path, needed: int | None) -> Exception:
    if error.errno in _FULL:
        size = f" ({needed:,} bytes needed)" if needed else ""
        return StorageError(
            f"no space left to write {path}{size}. Everything written before is intact; "
            "free some space and run the same command again to resume"
        )
    # Folders are made, so one that is still absent cannot be: /proc, a share that went away.
    absent = error.errno == errno.ENOENT and path.is_relative_to(
        Path(error.filename or "/-").parent
    )
    if absent or error.errno in _IMPOSSIBLE:
        reason = os.strerror(error.errno or 0)
        return StorageError(f"cannot write {path}: {reason}. Choose another place with --out")
    return error


@contextlib.contextmanager
def atomic(path: Path | str, needed: int | None = None) -> Iterator[Path]:
    """Yield a temporary file next to `path` that is renamed to it when the block succeeds.

    The content is on disk before the name changes, so a reader finds the old file or the
    new one, never half of either. On failure the temporary file is removed.

    Args:
        path: The file to write or replace; its folder is created.
        needed: Size in bytes, if known, for the message when the disk is full.

    Raises:
        StorageError: If the disk is full or the folder cannot be written.
    """
    path = Path(path)
    with storage_errors(path, needed):
        if kind := kind_of_place(path):
            raise StorageError(f"cannot write {path}: it is {kind}. Choose another place")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
        temporary.touch(exist_ok=False)
        try:
            yield temporary
            sync_file(temporary)
            temporary.replace(path)
            sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Flush a file's content to disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk: only then is a rename durable."""
    with contextlib.suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some network file systems cannot sync a folder
                raise
        finally:
            os.close(handle)


_KINDS: Final[tuple[tuple[Callable[[int], bool], str], ...]] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def kind_of_place(path: Path) -> str:
    """What there is in place of a file: a folder, a pipe, a device; empty for a file or nothing.

    To read a pipe or a device may never end.

    Raises:
        OSError: If the system cannot say, as for a link to itself or a name that is too long.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return ""
    return next((kind for holds, kind in _KINDS if holds(mode)), "")


DAMAGE: Final = (
    *(OSError, EOFError, UnicodeError, RecursionError, ValueError, LookupError, TypeError),
    *(ArithmeticError, AssertionError, RuntimeError, csv.Error, zlib.error, zipfile.BadZipFile),
)
"""What Python and the libraries that read files raise where one is not what it should be."""


@contextlib.contextmanager
def reading(path: Path | str, what: str = "readable", *, name: str = "") -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one message that names it.

    Args:
        path: The file; a pipe or a device is refused before it is opened.
        what: What it should be, such as ``readable JSON``.
        name: What the message calls it, such as the key and the file; unset: its path.

    Raises:
        InputError: If it is missing, cannot be read, or makes its reader stumble.
    """
    name = name or str(path)
    try:
        if kind := kind_of_place(Path(path)):
            raise InputError(f"{name} is {kind}, not a file")
        yield
    except InputError:
        raise
    except FileNotFoundError as error:
        near = did_you_mean_beside(Path(path)) if str(path) in name else ""
        said = f"{name} cannot be read: there is no such file{near and f'.{near}'}"
        raise InputError(said) from error
    except MemoryError as error:
        raise InputError(f"{name} needs more memory than is free: is it the right file?") from error
    except DAMAGE as error:
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"{name} cannot be read: {error.strerror}") from error
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise InputError(f"{name} is not {what}: {reason}") from error


def require_folder(path: Path) -> None:
    """Refuse a place that is no folder.

    Raises:
        InputError: With the nearest name beside it; or, of a file, where the runs of it are.
    """
    if path.is_dir():
        return
    if path.is_file():
        raise InputError(
            f"{path} is a file, not a folder of runs. The runs of a sweep file are in the folder "
            f"that `medldr sweep` made: runs/{path.stem}, unless --out named another"
        )
    near = did_you_mean_beside(path)
    raise InputError(f"the folder {path} does not exist{near and f'.{near}'}")


def refuse_links(folder: Path) -> None:
    """Refuse a run folder in which a link leads to somewhere else: its files are read and written.

    Raises:
        InputError: Naming the link.
    """
    inside = folder.resolve()
    for at, folders, names in os.walk(folder):
        for path in (Path(at, name) for name in (*folders, *names)):
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(inside):
                raise InputError(
                    f"{path} is a link that leads out of the folder, so it is not followed. Put "
                    "what it stands for in its place"
                )


def check_replaceable(
    folder: Path, content: str, is_earlier: Callable[[Path], bool], *, force: bool
) -> None:
    """Refuse to write into a folder that holds anything but an earlier result of the same kind.

    Args:
        folder: The folder to write; it need not exist.
        content: What is written there, such as ``heat maps``.
        is_earlier: Whether a folder holds an earlier result of this kind.
        force: Whether an earlier result may be replaced.

    Raises:
        InputError: Naming the folder and the cure.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file. Name a folder for the {content}")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not is_earlier(folder):
        raise InputError(
            f"{folder} is not empty and holds no earlier {content}, so it is left alone. "
            "Name another folder"
        )
    if not force:
        raise InputError(f"{folder} holds earlier {content}. Name another folder, or use --force")


@contextlib.contextmanager
def whole_folder(to: Path) -> Iterator[Path]:
    """A hidden folder beside another that takes its name, and its place, when the block succeeds.

    Args:
        to: The folder to make; what is there stays until the block has ended.

    Raises:
        StorageError: If it cannot be written.
    """
    to = Path(os.path.realpath(to))
    with storage_errors(to):
        to.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(to)
        made = Path(tempfile.mkdtemp(prefix=f".{to.name}.", suffix=".tmp", dir=to.parent))
    try:
        folder = made / to.name  # a folder with everybody's usual rights, which mkdtemp's lacks
        folder.mkdir()
        yield folder
        with storage_errors(to):
            _put(folder, to, made / "before")
    finally:
        shutil.rmtree(made)


def _remove_abandoned(to: Path) -> None:
    """Remove what killed processes left half made, a day ago or more."""
    for left in to.parent.glob(f".{glob.escape(to.name)}.*.tmp"):
        if left.is_dir() and time.time() - left.stat().st_mtime > _ABANDONED:
            shutil.rmtree(left, ignore_errors=True)


def _put(folder: Path, to: Path, before: Path) -> None:
    """Give a folder its name; what had it goes to `before`, and comes back if that fails."""
    for path in folder.rglob("*"):
        if path.is_file():
            sync_file(path)
    if to.exists():
        to.replace(before)
    try:
        folder.replace(to)
    except OSError:
        if before.exists():
            before.replace(to)
        raise
    sync_folder(to.parent)


def write_text(path: Path | str, text: str) -> None:
    """Write a UTF-8 text file, whole or not at all."""
    with atomic(path, needed=len(text.encode())) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    """Write JSON, whole or not at all.

    Raises:
        ValueError: If a number is NaN or infinite: an undefined number is null with a reason.
    """
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_text(path: Path | str, errors: Literal["strict", "replace"] = "strict") -> str:
    """Read a text in UTF-8.

    Args:
        path: The file.
        errors: ``replace``: bytes that are no UTF-8 become question marks.

    Raises:
        InputError: If it is no file, missing or not text, naming it.
    """
    with reading(path, "text"):
        return Path(path).read_text(encoding="utf-8", errors=errors)


def read_json(path: Path | str) -> Any:
    """Read a JSON file.

    Raises:
        InputError: If the file is missing or not JSON, naming it.
    """
    with reading(path, "readable JSON"):
        return json.loads(Path(path).read_text(encoding="utf-8"))


def append_line(path: Path | str, line: str) -> None:
    """Append one line to a file and flush it to disk."""
    path = Path(path)
    data = (line + "\n").encode()
    with storage_errors(path, len(data)), path.open("ab") as file:
        start = file.tell()
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            # Half a line would make the whole file unreadable as JSON lines.
            with contextlib.suppress(OSError):
                os.truncate(path, start)
            raise


def checksum(path: Path | str, kind: str = "sha256") -> str:
    """Hexadecimal checksum (``md5`` or ``sha256``) of a file's bytes.

    Raises:
        InputError: If it cannot be read.
    """
    with reading(path), Path(path).open("rb") as file:
        how = functools.partial(hashlib.new, kind, usedforsecurity=False)
        return hashlib.file_digest(file, how).hexdigest()


def last_changed(state: os.stat_result) -> int:
    """When a file's content, name or times last changed, in ns.

    Copying, unpacking and renaming may put the time of the content back; that of the change of the
    file itself they cannot. Where there is none (Windows), the former counts alone.
    """
    return max(state.st_mtime_ns, state.st_ctime_ns)


def save_tensors(path: Path | str, tensors: Mapping[str, Tensor]) -> None:
    """Write named tensors as safetensors, whole or not at all; equal tensors, equal bytes."""
    from safetensors.torch import save

    plain = {name: tensors[name].detach().cpu().contiguous() for name in sorted(tensors)}
    data = save(plain)
    with atomic(path, needed=len(data)) as temporary:
        temporary.write_bytes(data)


def load_tensors(path: Path | str) -> dict[str, Tensor]:
    """Read named tensors from a safetensors file.

    Raises:
        InputError: If the file is missing or not a safetensors file.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    with reading(path, "a readable safetensors file"):
        try:
            return dict(load_file(path))
        except SafetensorError as error:
            raise InputError(
                f"{path} is not a readable safetensors file: {error}. Weights are only read from "
                "safetensors files"
            ) from error


def save_checkpoint(path: Path | str, state: Mapping[str, Any]) -> None:
    """Write a checkpoint of tensors and plain Python values, whole or not at all.

    Its own checksum follows its content: torch reads flipped bits without a word. A CRC is enough,
    since it is to find damage, not forgery, and takes a third of the time of SHA-256.
    """
    import io

    import torch

    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    buffer.write(seal(buffer.getbuffer()))
    data = buffer.getbuffer()
    with atomic(path, needed=data.nbytes) as temporary:
        temporary.write_bytes(data)


def seal(content: bytes | memoryview) -> bytes:
    """What follows the content of a file that holds its own checksum."""
    return _SEAL + f"{zlib.crc32(content):08x}".encode()


def unsealed(data: bytes) -> bytes:
    """The content of a file that holds its own checksum.

    Raises:
        ValueError: If it is not what the checksum is of.
    """
    content = data[: -len(seal(b""))]
    if content + seal(content) != data:
        raise ValueError("it does not have the checksum at its end")
    return content


def _is_sealed(path: Path) -> bool:
    """Compare a checkpoint with the checksum at its end, and say whether it has one."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        length = max(len(data) - len(seal(b"")), 0)
        found = data[length:]
        if not found.startswith(_SEAL):
            return False
        with memoryview(data)[:length] as content:
            if found != seal(content):
                raise ValueError("it does not have the checksum at its end")
    return True


def load_checkpoint(path: Path | str) -> dict[str, Any]:
    """Read a checkpoint; only tensors and plain values are accepted.

    Raises:
        InputError: If the file is missing, damaged, or contains anything executable.
    """
    import pickle
    import warnings

    import torch

    with reading(path, "a whole checkpoint"), warnings.catch_warnings():
        # Checking a large file takes the time of copying it. Ours are never changed in place, so
        # their pages need no copy; Windows replaces no file that is mapped.
        mapped = _is_sealed(Path(path)) and os.name == "posix"
        mapped = mapped and Path(path).stat().st_size > _MAPPED_FROM
        # A foreign pickle is refused below, with our own message.
        warnings.filterwarnings("ignore", message="Detected pickle protocol")
        try:
            state = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
        except pickle.UnpicklingError as error:
            raise InputError(
                f"{path} is refused: it contains more than tensors and plain values, and loading "
                "it could execute code"
            ) from error
    if not isinstance(state, dict):
        raise InputError(f"{path} is not a medldr checkpoint")
    return state


class RunFolder:
    """Names of the files of one run; nothing here reads or writes.

    Example:
        >>> RunFolder("runs/a").selected("val_auc").as_posix()
        'runs/a/selected/val_auc.safetensors'
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.run = self.path / "run.json"
        self.owner = self.path / "owner.json"
        self.metrics = self.path / "metrics.jsonl"
        self.checkpoints = self.path / "checkpoints"
        self.last = self.checkpoints / "last.ckpt"
        self.before = self.checkpoints / "before.ckpt"
        self.best = self.checkpoints / "best.ckpt"
        self.model = self.path / "model.safetensors"
        self.splits = self.path / "splits.json"
        self.predictions = self.path / "predictions.csv"
        self.evaluation = self.path / "evaluation.json"
        self.mistakes = self.path / "mistakes.json"
        self.report = self.path / "report.html"
        self.checklist = self.path / "checklist.html"
        self.bad_files = self.path / "bad_files.csv"
        self.submission = self.path / "submission"
        self.preprocessing = self.path / "preprocessing.json"
        self.unlike = self.path / "unlike.safetensors"
        self.latents = self.path / "latents.safetensors"
        self.seen = self.path / "seen_images.safetensors"

    def selected(self, rule: str) -> Path:
        """Weights chosen by a selection rule."""
        return self.path / "selected" / f"{rule}.safetensors"

    @property
    def has_state(self) -> bool:
        """Whether a checkpoint exists from which the run, or a stage of it, can go on."""
        return any(self.path.glob("**/checkpoints/*.ckpt"))

    def stage(self, number: int) -> RunFolder:
        """Files of a stage of training that another one follows; its owner is the run's."""
        made = RunFolder(self.path / "stages" / str(number))
        made.owner = self.owner
        return made

    def predictions_of(self, rule: str | None) -> Path:
        """Predictions of the weights chosen by a rule; None: by the reported one."""
        return self.path / ("" if rule is None else f"selected/{rule}") / self.predictions.name

    def evaluation_of(self, rule: str | None) -> Path:
        """Evaluation of these predictions."""
        return self.predictions_of(rule).with_name(self.evaluation.name)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"
