import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { MessageWithPartsSchema, WatchMessagesResponseSchema } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { eventText, messageText, sessionLine, sessionText } from "../../../src/commands/session-text.js";

describe("the text of", () => {
  it("a session shows a title on one line, whatever it contains", () => {
    const session = create(SessionSchema, { sessionId: "s", title: "One\n2026  two\u001b[2J\u202e" });
    expect(sessionLine(session)).toBe("  s  One\\u000a2026  two\\u001b[2J\\u202e");
    expect(sessionText(session).split("\n")).toContain("title     One\\u000a2026  two\\u001b[2J\\u202e");
  });

  it("a message keeps the lines and tabs of its text, and shows its role and the types of its parts on one line", () => {
    const info = { id: "m", role: "user\n#5 system" };
    const parts = [
      { type: "text", text: "a\tb\nc\u0007" },
      { type: "tool\n#6", text: "" },
    ];
    expect(messageText(create(MessageWithPartsSchema, { info, parts }))).toBe(
      ["", " user\\u000a#5 system m", "  a\tb", "  c\\u0007", "  [tool\\u000a#6] "].join("\n"),
    );
  });

  it("a part says the name, type and size of its attachment, on one line", () => {
    const attachment = { attachmentId: "a1", name: "ä\n.png", mediaType: "image/png", size: 300000n };
    const missing = { attachmentId: "a2", mediaType: "text/plain", missing: true };
    const parts = [
      { type: "file", attachment },
      { type: "text", text: "See", attachment: missing },
    ];
    expect(messageText(create(MessageWithPartsSchema, { info: { id: "m", role: "user" }, parts }))).toBe(
      [
        ...["", " user m", "  [file] (attachment: ä\\u000a.png, image/png, 300,000 bytes)"],
        "  See (attachment: a2, text/plain, 0 bytes, missing)",
      ].join("\n"),
    );
  });

  it("a deletion names the message after an empty line", () => {
    const event = { case: "deleted" as const, value: { messageId: "m\u202e", position: 2n } };
    expect(eventText(create(WatchMessagesResponseSchema, { event }))).toBe("\n-- deleted: #2 m\\u202e");
  });
});
