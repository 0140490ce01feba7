import { expect, it, onTestFinished, vi } from "vitest";
import { createSessionPoolClient } from "../../../../clients/typescript/src/index.js";

/** Stands for a browser's XMLHttpRequest whose request goes on until it is aborted. */
class FakeXhr {
  static sent = 0;
  readonly upload: { onprogress?: (event: { loaded: number }) => void } = {};
  onabort: (() => void) | undefined;

  open(): void {}

  setRequestHeader(): void {}

  send(): void {
    FakeXhr.sent++;
    setImmediate(() => this.upload.onprogress?.({ loaded: 1 }));
  }

  abort(): void {
    this.onabort?.();
  }
}

it("aborts the request of a page whose onProgress throws, and throws that", async () => {
  vi.stubGlobal("XMLHttpRequest", FakeXhr);
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  const client = createSessionPoolClient({ baseUrl: "http://sessions.example" });
  const error = new Error("The page is gone");
  const onProgress = () => {
    throw error;
  };
  await expect(client.uploadAttachment("s", new Uint8Array(2), { onProgress })).rejects.toBe(error);
  expect(FakeXhr.sent).toBe(1);
});
