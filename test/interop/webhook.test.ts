import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startService } from "../../src/commands/service.js";
import { createLogger } from "../../src/server/logging.js";
import { poll } from "../support/poll.js";
import { TEST_CONFIG } from "../support/server.js";
import { cached, describeWith, install, needPrograms, run } from "../support/toolchain.js";
import { SECRET, WebhookReceiver } from "../support/webhook-receiver.js";

const PACKAGES = ["standardwebhooks==1.1.0"];
const OTHER_SECRET = `whsec_${Buffer.alloc(32).toString("base64")}`;

/** Prints the type of each message that the library finds genuine. */
const PROGRAM = `
import json, sys
from standardwebhooks.webhooks import Webhook
webhook = Webhook(sys.argv[1])
for message in json.load(open(sys.argv[2])):
    print(webhook.verify(message["body"], message["headers"])["type"])
`;

async function prepare(): Promise<string> {
  needPrograms("python3");
  const environment = await cached("standardwebhooks", PACKAGES, async (folder) => {
    await install("python3", ["-m", "venv", folder]);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"];
    await install(join(folder, "bin/python"), [...pip, ...PACKAGES]);
  });
  return join(environment, "bin/python");
}

await describeWith("the library of Standard Webhooks for Python", prepare, (python) => {
  it("finds what is posted genuine, with a secret that is in the file and with no other", async () => {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-webhook-"));
    const [secretFile, messages] = [join(folder, "secret"), join(folder, "messages.json")] as const;
    writeFileSync(secretFile, SECRET, { mode: 0o600 });
    const receiver = await WebhookReceiver.start();
    const config = { ...TEST_CONFIG, webhook: { url: receiver.url, secretFile } };
    const service = await startService(config, createLogger("silent"));
    try {
      await poll(() => receiver.accepted.length > 0, "the receiver is asked to list the sessions");
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ sessionId: "ünï “code”" });
      await fetch(`http://127.0.0.1:${service.httpPort}/session`, { method: "POST", headers, body });
      await receiver.until("created", "ünï “code”");
      writeFileSync(messages, JSON.stringify(receiver.accepted));
      const printed = await run(python, ["-c", PROGRAM, SECRET, messages]);
      expect(printed.trim().split("\n")).toEqual(receiver.accepted.map(({ type }) => type));
      await expect(run(python, ["-c", PROGRAM, OTHER_SECRET, messages])).rejects.toThrow("No matching signature found");
    } finally {
      await service.stop();
      await receiver.stop();
      rmSync(folder, { recursive: true });
    }
  });
});
