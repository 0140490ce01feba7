import { describe, expect, it } from "vitest";
import { keep } from "../../../../../clients/typescript/src/adapters/keep.js";
import {
  Code,
  ConnectError,
  type NewMessage,
  type SessionPoolClient,
} from "../../../../../clients/typescript/src/index.js";

const message: NewMessage = { info: { id: "m" }, parts: [{ type: "text", text: "x".repeat(300_000) }] };
const CUT: NewMessage = { info: { id: "m" }, parts: [{ type: "text", text: "cut" }] };

function keepAgainst(error: ConnectError): Promise<NewMessage> {
  const client = { uploadAttachment: () => Promise.reject(error) } as unknown as SessionPoolClient;
  return keep(client, "s", message, { fit: (given) => (given === message ? CUT : given) });
}

describe("keep", () => {
  it.each([Code.Unimplemented, Code.NotFound, Code.InvalidArgument, Code.ResourceExhausted])(
    "cuts a message whose attachment is refused with code %i",
    async (code) => {
      expect(await keepAgainst(new ConnectError("refused", code))).toBe(CUT);
    },
  );

  it.each([
    ["is busy", new ConnectError("busy", Code.ResourceExhausted, { "retry-after": "1" })],
    ["is not there", new ConnectError("lost", Code.Unavailable)],
  ])("passes on the error of a service that %s", async (_what, error) => {
    await expect(keepAgainst(error)).rejects.toBe(error);
  });
});
