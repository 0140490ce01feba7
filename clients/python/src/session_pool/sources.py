"""What is uploaded: bytes, files and iterators, read in chunks that one message of the API holds."""

from __future__ import annotations

import asyncio
import io
import mimetypes
import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

SyncBytes = bytes | bytearray | memoryview | os.PathLike[str] | BinaryIO | Iterable[bytes]
AsyncBytes = SyncBytes | AsyncIterable[bytes]

_CHUNK_BYTES = 256 * 1024
_BYTES = (bytes, bytearray, memoryview)


class _Source:
    """Says what is known of a source before it is read. Raises TypeError for what is none."""

    def __init__(self, given: object) -> None:
        self._given: Any = given
        self.name = ""
        self.media_type = ""
        self.size: int | None = None
        # Files that are open, and iterators, can be read only once.
        self.can_repeat = isinstance(given, (*_BYTES, os.PathLike))
        if isinstance(given, _BYTES):
            self.size = memoryview(given).nbytes
        elif isinstance(given, os.PathLike):
            path = Path(given)
            # What is no UTF-8 in the name of a file is a question mark in the name of the attachment.
            self.name = path.name.encode(errors="replace").decode()
            self.media_type = _type_of(path)
            if path.is_file():
                self.size = path.stat().st_size
        elif _is_file(given):
            self.size = _rest_of(given)
        elif isinstance(given, str) or not isinstance(given, (Iterable, AsyncIterable)):
            raise TypeError(
                "the source must be bytes, a path such as pathlib.Path, a binary file or an iterator of bytes, "
                f"not {type(given).__name__}"
            )

    def _open(self) -> BinaryIO | None:
        """Returns the file to read, if the source is one. The caller closes it if it was a path."""
        if isinstance(self._given, os.PathLike):
            return open(self._given, "rb")
        file: BinaryIO | None = self._given if _is_file(self._given) else None
        return file

    def _close(self, file: BinaryIO) -> None:
        if file is not self._given:
            file.close()


class SyncSource(_Source):
    """A source that is read without asyncio."""

    def chunks(self) -> Iterator[bytes]:
        """Yields the bytes in chunks of at most 256 KiB. Bytes and paths can be read again."""
        file = self._open()
        if file is None:
            for given in [self._given] if isinstance(self._given, _BYTES) else self._given:
                yield from _pieces(given)
            return
        try:
            while chunk := _checked(file.read(_CHUNK_BYTES)):
                yield bytes(chunk)
        finally:
            self._close(file)


class AsyncSource(_Source):
    """A source that is read with asyncio. Files are read in a thread."""

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the bytes in chunks of at most 256 KiB. Bytes and paths can be read again."""
        file = await asyncio.to_thread(self._open)
        if file is not None:
            try:
                while chunk := _checked(await asyncio.to_thread(file.read, _CHUNK_BYTES)):
                    yield bytes(chunk)
            finally:
                self._close(file)
        elif isinstance(self._given, AsyncIterable):
            async for given in self._given:
                for piece in _pieces(given):
                    yield piece
        else:
            for given in [self._given] if isinstance(self._given, _BYTES) else self._given:
                for piece in _pieces(given):
                    yield piece


def _pieces(given: object) -> Iterator[bytes]:
    whole = memoryview(_checked(given)).cast("B")
    for start in range(0, len(whole), _CHUNK_BYTES):
        yield bytes(whole[start : start + _CHUNK_BYTES])


def _checked(chunk: Any) -> Any:
    if not isinstance(chunk, _BYTES):
        raise TypeError(f"the source must give bytes, not {type(chunk).__name__}")
    return chunk


def _is_file(given: object) -> bool:
    return isinstance(given, io.IOBase) or (callable(getattr(given, "read", None)) and not isinstance(given, _BYTES))


def _rest_of(file: Any) -> int | None:
    """Returns how many bytes a file has from where it stands, if it can tell."""
    try:
        here: int = file.tell()
        end: int = file.seek(0, os.SEEK_END)
        file.seek(here)
        return max(end - here, 0)
    except (AttributeError, OSError, ValueError):
        return None


def _type_of(path: Path) -> str:
    kind, encoding = mimetypes.guess_type(path.name)
    # The bytes of a compressed file are of the type of its compression.
    return kind or "" if encoding is None else f"application/{encoding}"
