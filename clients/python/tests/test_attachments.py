import hashlib
import io
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from fake_attachments import FakeAttachments
from proxy import Proxy
from session_pool import (
    AsyncSessionPoolClient,
    MessageInfo,
    MessageWithParts,
    Part,
    PartAttachment,
    SessionPoolClient,
    SessionPoolError,
    new_id,
)

CHUNK = 256 * 1024
CONTENT = bytes(range(256)) * 3 * 1024


@pytest.fixture
def fake() -> Iterator[FakeAttachments]:
    started = FakeAttachments()
    yield started
    started.stop()


@pytest.fixture
def uploader(fake: FakeAttachments) -> Iterator[SessionPoolClient]:
    with SessionPoolClient(fake.address, key="sp_1") as client:
        yield client


@pytest.fixture
def impatient(fake: FakeAttachments) -> Iterator[SessionPoolClient]:
    """A client that ends stalled calls soon. Any call may seem stalled to it, so it may make more calls than needed."""
    with SessionPoolClient(fake.address, timeout=0.5) as client:
        yield client


def sources(path: Path) -> dict[str, Any]:
    path.write_bytes(CONTENT)

    def odd() -> Iterator[bytes]:
        yield b""
        yield CONTENT[:7]
        yield memoryview(CONTENT)[7:]  # type: ignore[misc]

    return {
        "bytes": CONTENT,
        "bytearray": bytearray(CONTENT),
        "memoryview": memoryview(CONTENT).cast("H"),
        "path": path,
        "file": io.BytesIO(CONTENT),
        "iterator": odd(),
        "list": [CONTENT[:CHUNK], CONTENT[CHUNK:]],
    }


def test_each_kind_of_source_arrives_whole(fake: FakeAttachments, uploader: SessionPoolClient, tmp_path: Path) -> None:
    for kind, source in sources(tmp_path / "picture.png").items():
        seen: list[tuple[int, int | None]] = []
        made = uploader.upload_attachment(
            "trip", source, attachment_id=kind, on_progress=lambda *now: seen.append(now)
        )
        assert fake.kept[kind][1] == CONTENT, kind
        total = None if kind in ("iterator", "list") else len(CONTENT)
        assert seen[-1] == (len(CONTENT), total)
        assert seen == sorted(seen) and len(seen) >= 3
        expected = ("picture.png", "image/png") if kind == "path" else ("", "application/octet-stream")
        assert (made.name, made.media_type) == expected
    assert [first.HasField("size") for first in fake.uploads] == [True] * 5 + [False] * 2
    assert set(fake.keys) == {"Bearer sp_1"}


def test_what_is_given_goes_before_what_is_guessed(
    fake: FakeAttachments, uploader: SessionPoolClient, tmp_path: Path
) -> None:
    path = tmp_path / "log.tar.gz"
    path.write_bytes(b"")
    uploader.upload_attachment("trip", path)
    uploader.upload_attachment("trip", path, name="", media_type="text/plain", sha256="ab", create_session=True)
    uploader.upload_attachment("trip", [b"x"], name="a", size=1)
    guessed, given, sized = fake.uploads
    assert (guessed.name, guessed.media_type, guessed.size) == ("log.tar.gz", "application/gzip", 0)
    assert (given.name, given.media_type, given.sha256, given.create_session) == ("", "text/plain", "ab", True)
    assert (sized.name, sized.size) == ("a", 1)
    assert len({first.attachment_id for first in fake.uploads}) == 3


@pytest.mark.asyncio
async def test_asyncio_uploads_and_downloads_the_same(fake: FakeAttachments, tmp_path: Path) -> None:
    async def slices() -> AsyncIterator[bytes]:
        for start in range(0, len(CONTENT), 100_000):
            yield CONTENT[start : start + 100_000]

    async with AsyncSessionPoolClient(fake.address, key="sp_1") as client:
        for kind, source in {**sources(tmp_path / "a.txt"), "async": slices()}.items():
            seen: list[tuple[int, int | None]] = []
            made = await client.upload_attachment(
                "trip", source, attachment_id=kind, on_progress=lambda *now: seen.append(now)
            )
            assert fake.kept[kind][1] == CONTENT, kind
            assert seen[-1][0] == made.size == len(CONTENT)
        fake.kept["short"] = (fake.kept["path"][0], CONTENT)
        fake.failures = [grpc.StatusCode.UNAVAILABLE, None]
        fake.chunks_before_failure = 3
        content = b"0123456789" * 9
        await client.upload_attachment("trip", content, attachment_id="short")
        async with AsyncSessionPoolClient(fake.address, key="sp_1", timeout=0.5) as impatient:
            download = await impatient.download_attachment("trip", "short", offset=1)
            assert await download.read() == content[1:]
        assert {1, 31, 61} <= {one.offset for one in fake.downloads}
        await (await client.download_attachment("trip", "path")).save_to(tmp_path / "b.txt")
        assert (tmp_path / "b.txt").read_bytes() == CONTENT
        with pytest.raises(ZeroDivisionError):
            await client.upload_attachment("trip", (bytes(1 // (2 - n)) for n in range(4)))
        async with await client.download_attachment("trip", "path") as download:
            async for _ in download:
                break
    assert set(fake.keys) == {"Bearer sp_1"}


def test_bytes_and_paths_are_sent_again_under_the_same_id(
    fake: FakeAttachments, impatient: SessionPoolClient, tmp_path: Path
) -> None:
    # The second attempt stalls, which ends with the timeout.
    fake.failures = [grpc.StatusCode.UNAVAILABLE, None]
    made = impatient.upload_attachment("trip", sources(tmp_path / "a")["path"])
    assert fake.kept[made.attachment_id][1] == CONTENT
    assert len(fake.uploads) >= 3 and {first.attachment_id for first in fake.uploads} == {made.attachment_id}


@pytest.mark.parametrize("kind", ["file", "iterator"])
def test_what_can_be_read_only_once_is_sent_once(
    fake: FakeAttachments, uploader: SessionPoolClient, tmp_path: Path, kind: str
) -> None:
    fake.failures = [grpc.StatusCode.UNAVAILABLE]
    with pytest.raises(SessionPoolError) as raised:
        uploader.upload_attachment("trip", sources(tmp_path / "a")[kind])
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
    assert len(fake.uploads) == 1 and not fake.kept


def test_refusals_are_raised_at_once(fake: FakeAttachments, uploader: SessionPoolClient) -> None:
    fake.failures = [grpc.StatusCode.RESOURCE_EXHAUSTED]
    with pytest.raises(SessionPoolError, match="RESOURCE_EXHAUSTED: broken on purpose"):
        uploader.upload_attachment("trip", CONTENT)
    assert len(fake.uploads) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("key", [None, "sp_1"])
async def test_what_the_service_says_first_is_what_is_raised(fake: FakeAttachments, key: str | None) -> None:
    fake.refusal = grpc.StatusCode.NOT_FOUND
    async with AsyncSessionPoolClient(fake.address, key=key) as client:
        for _ in range(20):
            with pytest.raises(SessionPoolError, match="NOT_FOUND: refused on purpose"):
                await client.upload_attachment("trip", CONTENT * 4)
    with SessionPoolClient(fake.address, key=key) as client_without:
        with pytest.raises(SessionPoolError, match="NOT_FOUND: refused on purpose"):
            client_without.upload_attachment("trip", CONTENT * 4)


@pytest.mark.parametrize("at", ["source", "progress"])
def test_what_the_caller_s_code_raises_leaves_nothing(
    client: SessionPoolClient, session_id: str, caplog: pytest.LogCaptureFixture, at: str
) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        if at == "source":
            raise OSError("unplugged")

    def progress(so_far: int, total: int | None) -> None:
        if at == "progress":
            raise OSError("unplugged")

    with pytest.raises(OSError, match="unplugged"):
        client.upload_attachment(session_id, broken(), attachment_id="a", on_progress=progress)
    assert not caplog.records
    client.upload_attachment(session_id, b"whole", attachment_id="a")
    assert client.download_attachment(session_id, "a").read() == b"whole"


@pytest.mark.parametrize("source", ["text", 3, None, ["text"], [3]])
def test_what_is_no_bytes_is_refused(uploader: SessionPoolClient, source: Any) -> None:
    with pytest.raises(TypeError, match="bytes, not|binary file or an iterator of bytes, not"):
        uploader.upload_attachment("trip", source)


def test_a_missing_file_is_raised_as_it_is(uploader: SessionPoolClient, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        uploader.upload_attachment("trip", tmp_path / "none")


def test_a_slow_source_is_waited_for(fake: FakeAttachments) -> None:
    ends = threading.Event()

    def slow() -> Iterator[bytes]:
        yield b"a"
        ends.wait(2)
        yield b"b"

    with SessionPoolClient(fake.address, timeout=1.5) as client:
        made = client.upload_attachment("trip", slow())
    assert fake.kept[made.attachment_id][1] == b"ab"


def test_a_download_goes_on_where_it_broke(
    fake: FakeAttachments, uploader: SessionPoolClient, impatient: SessionPoolClient
) -> None:
    content = b"0123456789" * 5 + b"end"
    uploader.upload_attachment("trip", content, attachment_id="a", name="ten.txt")
    fake.failures = [grpc.StatusCode.UNAVAILABLE, None, grpc.StatusCode.INTERNAL]
    seen: list[tuple[int, int]] = []
    download = impatient.download_attachment("trip", "a", on_progress=lambda *now: seen.append(now))
    assert download.attachment.name == "ten.txt" and download.total == 53
    assert b"".join(download) == content
    assert seen == [(n, 53) for n in (10, 20, 30, 40, 50, 53)]
    assert {(10, 43), (20, 33), (30, 23)} <= {(one.offset, one.length) for one in fake.downloads}
    fake.failures = [grpc.StatusCode.UNAVAILABLE]
    assert uploader.download_attachment("trip", "a", offset=5, length=20).read() == content[5:25]
    assert download.read() == b""


def test_a_file_appears_when_it_is_whole(fake: FakeAttachments, uploader: SessionPoolClient, tmp_path: Path) -> None:
    uploader.upload_attachment("trip", CONTENT[:1000], attachment_id="a")
    target = tmp_path / "a.bin"
    uploader.download_attachment("trip", "a").save_to(target)
    assert target.read_bytes() == CONTENT[:1000]
    facts, _ = fake.kept["a"]
    fake.kept["a"] = (facts, CONTENT[1:1001])
    with pytest.raises(SessionPoolError, match="DATA_LOSS: attachment 'a' does not have its SHA-256"):
        uploader.download_attachment("trip", "a").save_to(target)
    fake.kept["a"] = (facts, CONTENT[:900])
    with pytest.raises(SessionPoolError, match="DATA_LOSS: attachment 'a' has ended after 900 of 1000 bytes"):
        uploader.download_attachment("trip", "a").read()
    assert target.read_bytes() == CONTENT[:1000]
    assert list(tmp_path.iterdir()) == [target]


def test_another_attachment_does_not_continue_a_download(fake: FakeAttachments, uploader: SessionPoolClient) -> None:
    uploader.upload_attachment("trip", CONTENT[:100], attachment_id="a")
    fake.failures = [grpc.StatusCode.UNAVAILABLE]
    chunks = iter(uploader.download_attachment("trip", "a"))
    next(chunks)
    facts, content = fake.kept["a"]
    fake.kept["a"] = (type(facts)(size=100, sha256=hashlib.sha256(b"other").hexdigest()), content)
    with pytest.raises(SessionPoolError, match="ABORTED: attachment 'a' was replaced"):
        list(chunks)


def refused(call: Any, *given: Any, **options: Any) -> grpc.StatusCode:
    with pytest.raises(SessionPoolError) as raised:
        call(*given, **options)
    return raised.value.code()


def test_the_service_keeps_what_messages_name(client: SessionPoolClient, tmp_path: Path) -> None:
    session_id = new_id()
    path = tmp_path / "plan.txt"
    path.write_bytes(CONTENT)
    digest = hashlib.sha256(CONTENT).hexdigest()
    made = client.upload_attachment(session_id, path, attachment_id="a", sha256=digest, create_session=True)
    assert (made.name, made.media_type, made.size, made.sha256) == ("plan.txt", "text/plain", len(CONTENT), digest)
    assert client.upload_attachment(session_id, path, attachment_id="a") == made
    part = Part(type="file", attachment=PartAttachment(attachment_id="a"))
    stored = client.append(session_id, MessageWithParts(info=MessageInfo(role="user"), parts=[part]))
    shown = client.get_message(session_id, stored.message_id).parts[0].attachment
    assert (shown.name, shown.media_type, shown.size, shown.sha256) == ("plan.txt", "text/plain", len(CONTENT), digest)
    for number in range(3):
        client.upload_attachment(session_id, [b"b"], attachment_id=f"b{number}")
        with client.draft(session_id) as draft:
            draft.put(Part(type="file", attachment=PartAttachment(attachment_id=f"b{number}")))
    listed = list(client.list_attachments(session_id, page_size=2))
    assert [one.attachment_id for one in listed] == ["a", "b0", "b1", "b2"]
    assert list(listed[0].message_ids) == [stored.message_id]

    download = client.download_attachment(session_id, "a")
    assert (download.attachment.name, download.total) == ("plan.txt", len(CONTENT))
    assert download.read() == CONTENT
    assert client.download_attachment(session_id, "a", offset=300_000, length=9).read() == CONTENT[300_000:300_009]
    client.upload_attachment(session_id, b"", attachment_id="none")
    assert client.download_attachment(session_id, "none").read() == b""

    code = grpc.StatusCode
    assert refused(client.upload_attachment, session_id, b"x", attachment_id="a") is code.ALREADY_EXISTS
    assert refused(client.upload_attachment, session_id, [b"x"], size=2) is code.INVALID_ARGUMENT
    assert refused(client.upload_attachment, new_id(), CONTENT) is code.NOT_FOUND
    assert refused(client.download_attachment, session_id, "a", offset=len(CONTENT)) is code.OUT_OF_RANGE
    assert refused(client.download_attachment, session_id, "x") is code.NOT_FOUND
    assert refused(client.delete_attachment, session_id, "a") is code.FAILED_PRECONDITION
    client.delete_attachment(session_id, "none")
    assert refused(client.delete_attachment, session_id, "none") is code.NOT_FOUND


@pytest.mark.asyncio
async def test_a_broken_connection_costs_nothing(client: SessionPoolClient, proxy: Proxy, session_id: str) -> None:
    content = CONTENT * 8
    cuts: list[str] = []

    def cut(what: str) -> Callable[[int, int | None], None]:
        def progress(so_far: int, _total: int | None) -> None:
            if so_far >= len(content) // 2 and what not in cuts:
                cuts.append(what)
                proxy.cut()

        return progress

    async with AsyncSessionPoolClient(proxy.address) as far:
        made = await far.upload_attachment(session_id, content, on_progress=cut("upload"))
        assert client.download_attachment(session_id, made.attachment_id).read() == content
        download = await far.download_attachment(session_id, made.attachment_id, on_progress=cut("download"))
        assert await download.read() == content
    assert cuts == ["upload", "download"]


def test_keys_open_attachments(keyed: tuple[str, str]) -> None:
    address, key = keyed
    session_id = new_id()
    with SessionPoolClient(address, key=lambda: key) as client:
        made = client.upload_attachment(session_id, b"secret", create_session=True)
        assert client.download_attachment(session_id, made.attachment_id).read() == b"secret"
    with SessionPoolClient(address, key="sp_wrong") as client:
        assert refused(client.upload_attachment, session_id, CONTENT * 8) is grpc.StatusCode.UNAUTHENTICATED
        assert refused(client.download_attachment, session_id, made.attachment_id) is grpc.StatusCode.UNAUTHENTICATED
