import { toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { SessionSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { toSession } from "../../../src/api/convert.js";
import type { Session } from "../../../src/domain/session.js";
import { listedSize } from "../../../src/domain/session-size.js";

const TIME = Date.UTC(2255, 0, 1) * 1000 + 999_999;
const SMALL: Session = {
  ...{ sessionId: "s", parentId: "", forkPointId: "", title: "", createTimeMicros: TIME, updateTimeMicros: TIME },
  ...{ inheritedCount: 0, revision: 1, reverted: false },
};
const LARGE: Session = {
  ...{ sessionId: "語".repeat(42), parentId: "p".repeat(128), forkPointId: "f".repeat(128), title: "é".repeat(512) },
  ...{ createTimeMicros: TIME, updateTimeMicros: TIME, expireTimeMicros: TIME },
  ...{ owner: "é".repeat(64) },
  ...{ inheritedCount: 2 ** 53 - 1, messageCount: 2 ** 53 - 1, revision: 2 ** 53 - 1, reverted: true },
  metadata: { list: [1, null, "x".repeat(60_000)], deep: { deeper: { "": true } } },
  labels: Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`${i}`.padEnd(64, "k"), "é".repeat(128)])),
  lastMessage: { messageId: "m".repeat(128), role: "r".repeat(5000), timestampMicros: TIME, text: "😀".repeat(200) },
};

it.each([
  ["small", SMALL],
  ["large", LARGE],
])("covers a %s session as protobuf, by little more than its numbers", (_what, session) => {
  const exact = toBinary(SessionSchema, toSession(session)).length;
  expect(listedSize(session)).toBeGreaterThanOrEqual(exact);
  expect(listedSize(session)).toBeLessThan(exact + 100);
});
