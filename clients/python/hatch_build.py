"""Generates the stubs of the protos as `sessionpool.v1`, and the client without asyncio as `session_pool._sync`."""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import unasync
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Maps names of the client with asyncio to those of the client without it.
REPLACEMENTS = {
    "_async": "_sync",
    "aclose": "close",
    "async_channel": "sync_channel",
    "async_download": "sync_download",
    "async_shield": "sync_shield",
    "async_sleep": "sync_sleep",
    "async_thread": "sync_thread",
    "async_upload": "sync_upload",
    "AsyncDownload": "Download",
    "AsyncDraft": "Draft",
    "AsyncSessionPoolClient": "SessionPoolClient",
    "AsyncUnary": "SyncUnary",
    "AnnotationServiceAsyncStub": "AnnotationServiceStub",
    "AttachmentServiceAsyncStub": "AttachmentServiceStub",
    "MessageServiceAsyncStub": "MessageServiceStub",
    "SessionServiceAsyncStub": "SessionServiceStub",
    "TodoServiceAsyncStub": "TodoServiceStub",
    "TodoTrackerServiceAsyncStub": "TodoTrackerServiceStub",
    "UsageServiceAsyncStub": "UsageServiceStub",
}


class CustomBuildHook(BuildHookInterface[Any]):
    """A hook that Hatchling calls before it packs a wheel or an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        included = build_data["force_include"]
        if self.target_name == "sdist":
            included[str(self.beside("proto"))] = "proto"
            included[str(self.beside("LICENSE"))] = "LICENSE"
            return
        self.made = tempfile.TemporaryDirectory()
        out = Path(self.made.name)
        self.make_stubs(out)
        self.make_sync_client(out)
        included[str(out / "sessionpool")] = "sessionpool"
        included[str(out / "_sync")] = "session_pool/_sync"
        build_data["extra_metadata"][str(self.beside("LICENSE"))] = "licenses/LICENSE"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.target_name == "wheel":
            self.made.cleanup()

    def beside(self, name: str) -> Path:
        """Returns the path of something that belongs to the whole project.

        In an sdist it is in this folder; in the repository it is two folders up.
        """
        here = Path(self.root) / name
        return here if here.exists() else Path(self.root).parent.parent / name

    def make_stubs(self, out: Path) -> None:
        proto = self.beside("proto")
        files = sorted(str(path.relative_to(proto)) for path in proto.glob("sessionpool/v1/*.proto"))
        outputs = [f"--{name}_out={out}" for name in ("python", "grpc_python", "mypy", "mypy_grpc")]
        # The plug-ins are in the folder of this Python, which need not be on the PATH.
        path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{proto}", *outputs, *files]
        subprocess.run(
            command, check=True, env={**os.environ, "PATH": path}, stdout=subprocess.DEVNULL, stderr=sys.stderr
        )
        for folder in (out / "sessionpool", out / "sessionpool/v1"):
            (folder / "__init__.py").touch()
            (folder / "py.typed").touch()

    def make_sync_client(self, out: Path) -> None:
        source = Path(self.root) / "src/session_pool/_async"
        rule = unasync.Rule(str(source), str(out / "_sync"), additional_replacements=REPLACEMENTS)
        unasync.unasync_files([str(path) for path in sorted(source.glob("*.py"))], [rule])
