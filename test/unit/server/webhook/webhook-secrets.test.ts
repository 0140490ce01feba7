import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebhookSecrets } from "../../../../src/server/webhook/webhook-secrets.js";
import { poll } from "../../../support/poll.js";
import { TestLogger } from "../../../support/test-logger.js";

const secretOf = (bytes: number, fill = 7) => `whsec_${Buffer.alloc(bytes, fill).toString("base64")}`;
const BODY = '{"type":"sessions.reset"}';

let folder: string;
let path: string;
let logger: TestLogger;
let secrets: WebhookSecrets | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-webhook-secrets-"));
  path = join(folder, "secret");
  logger = new TestLogger();
});
afterEach(() => {
  secrets?.close();
  secrets = undefined;
  rmSync(folder, { recursive: true });
});

function open(content: string, mode = 0o600): WebhookSecrets {
  secrets?.close();
  writeFileSync(path, content);
  chmodSync(path, mode);
  secrets = new WebhookSecrets(path, logger.pino);
  return secrets;
}

it("sign as the library of Standard Webhooks does", () => {
  // An example of that library.
  const signature = open("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").sign(
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    1614265330,
    '{"test": 2432232314}',
  );
  expect(signature).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

it("sign with each secret of the file, so that a receiver may know any of them", () => {
  const both = open(`\n${secretOf(24)}\r\n  ${secretOf(64)}\n\n`).sign("msg_1", 1, BODY);
  const each = [secretOf(24), secretOf(64)].map((secret) => open(secret).sign("msg_1", 1, BODY));
  expect(both).toBe(each.join(" "));
});

it.each([
  ["", "holds no secret"],
  ["whsec_", "a secret must be whsec_ and the base64 of 24 to 64 bytes"],
  [secretOf(23), "24 to 64 bytes"],
  [secretOf(65), "24 to 64 bytes"],
  [secretOf(32).slice("whsec_".length), "24 to 64 bytes"],
  [secretOf(32).replace("=", ""), "24 to 64 bytes, with its padding"],
  [`whsec_${"A".repeat(41)}`, "24 to 64 bytes"],
  [`${secretOf(32)}\nnot/a+secret`, "24 to 64 bytes"],
])("refuse the content %j, and do not show it", (content, message) => {
  expect(() => open(content)).toThrow(`Webhook secret file ${path}`);
  expect(() => open(content)).toThrow(message);
  if (content !== "" && content !== "whsec_") expect(() => open(content)).not.toThrow(content.slice(10, 30));
});

it("refuse a file that every user of the machine can read", () => {
  expect(() => open(secretOf(32), 0o644)).toThrow(`${path} can be read by every user of this machine; chmod 600`);
  expect(() => open(secretOf(32), 0o640)).not.toThrow();
});

it("are read again after the file was changed, and stay while it cannot be used", async () => {
  const opened = open(secretOf(32));
  const before = opened.sign("msg_1", 1, BODY);
  writeFileSync(path, "whsec_nothing");
  opened.reload();
  expect(logger.lines).toMatchObject([{ level: 50, msg: expect.stringContaining("the secrets from before stay") }]);
  expect(opened.sign("msg_1", 1, BODY)).toBe(before);
  writeFileSync(path, secretOf(40));
  await poll(() => opened.sign("msg_1", 1, BODY) !== before, "the new secret signs");
});
