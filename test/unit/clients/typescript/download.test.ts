import { expect, it, vi } from "vitest";
import { Download } from "../../../../clients/typescript/src/download.js";

it("opens no connection for a reader that stops when one was just lost", async () => {
  let connection: ReadableStreamDefaultController | undefined;
  const body = new ReadableStream({
    start(controller) {
      connection = controller;
      controller.enqueue(new Uint8Array(1));
    },
  });
  const open = vi.fn(() => Promise.reject(new Error("Nobody reads on")));
  const answer = new Response(body, { headers: { "Content-Length": "2" } });
  for await (const chunk of new Download({ open, retries: 5 }, "a", answer, {})) {
    expect(chunk).toHaveLength(1);
    connection?.error(new TypeError("terminated"));
    break;
  }
  expect(open).not.toHaveBeenCalled();
});
