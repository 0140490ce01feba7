import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeCertificate } from "../support/certificate.js";
import { run } from "../support/child.js";
import { freePort } from "../support/free-port.js";
import { startTestServer } from "../support/server.js";

it("health succeeds when the server is ready, over HTTP or TLS as its flags say, and fails otherwise", async () => {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-health-"));
  const tls = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
  await makeCertificate(tls);
  for (const config of [{}, { tls }]) {
    const httpAddress = { host: "127.0.0.1", port: await freePort() };
    const server = await startTestServer({ ...config, httpAddress });
    const env = { SESSION_POOL_HTTP_ADDRESS: `0.0.0.0:${server.httpPort}` };
    const secure = { ...env, SESSION_POOL_TLS_CERT: tls.certPath };
    const [good, bad] = "tls" in config ? [secure, env] : [env, secure];
    expect(await run(["health"], good)).toMatchObject({ code: 0, stderr: "" });
    const refused = await run(["health"], bad);
    expect(refused).toMatchObject({ code: 1 });
    if ("tls" in config) expect(refused.stderr).toContain("(does it need --tls-cert?)\n");
    await server.stop();
    const stopped = await run(["health"], good);
    expect(stopped).toMatchObject({ code: 1 });
    expect(stopped.stderr).toMatch(/^session-pool: The server cannot be reached: .*\n$/);
  }
  rmSync(folder, { recursive: true });
});
