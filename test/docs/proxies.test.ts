import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { credentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { documentedProgram } from "../clients/documented.js";
import { GrpcClient } from "../support/grpc-client.js";
import { findProgram } from "../support/nginx.js";
import { type ProxyPlace, startTlsProxy, type TlsProxy } from "../support/proxies.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";

interface Documented {
  readonly args: readonly string[];
  /** The page's example, with the paths and ports of the test in place of its own. */
  configure(place: ProxyPlace): string;
}

const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

const proxies: Readonly<Record<string, Documented>> = {
  nginx: {
    args: ["-e", "stderr", "-p", ".", "-c", "proxy.conf"],
    configure: ({ port, certPath, keyPath }) => `
      daemon off;
      master_process off;
      pid nginx.pid;
      events {}
      http {
        access_log off;
        ${TEMPORARY.map((kind) => `${kind}_temp_path temporary/${kind};`).join("\n")}
        ${documentedProgram("nginx", "upstream session_pool_http")
          .replace("listen 443", `listen 127.0.0.1:${port}`)
          .replace("/etc/ssl/sessions.pem", certPath)
          .replace("/etc/ssl/sessions.key", keyPath)}
      }`,
  },
  caddy: {
    args: ["run", "--adapter", "caddyfile", "--config", "proxy.conf"],
    configure: ({ port, certPath, keyPath }) =>
      `{
        admin off
        auto_https disable_redirects
      }
      ${documentedProgram("caddy", "sessions.example.com").replace(
        "sessions.example.com {",
        `https://localhost:${port} {\ntls ${certPath} ${keyPath}`,
      )}`,
  },
  haproxy: {
    args: ["-f", "proxy.conf"],
    configure: ({ port, bothPath }) =>
      documentedProgram("haproxy", "backend session_pool_http")
        .replace("bind :443", `bind 127.0.0.1:${port}`)
        .replace("/etc/haproxy/sessions.pem", bothPath),
  },
};

for (const [name, { args, configure }] of Object.entries(proxies)) {
  await describeWith(
    `the example of ${name} on the page about proxies`,
    () => findProgram(name),
    (program) => {
      let server: TestServer;
      let proxy: TlsProxy;

      beforeAll(async () => {
        server = await startTestServer();
        const own = (example: string) =>
          example
            .replaceAll("127.0.0.1:8080", `127.0.0.1:${server.httpPort}`)
            .replaceAll("check port 8080", `check port ${server.httpPort}`)
            .replaceAll("127.0.0.1:50051", server.grpcAddress);
        proxy = await startTlsProxy(program, (place) => own(configure(place)), args);
      });
      afterAll(async () => {
        await proxy.stop();
        await server.stop();
      });

      it("passes on REST, Connect and gRPC, and what a watcher is told at once", async () => {
        expect(await textOf(await send("GET", "/readyz"))).toContain("ok");
        const created = await send("POST", "/session", { sessionId: "s" });
        expect(JSON.parse(await textOf(created))).toMatchObject({ sessionId: "s" });
        const counted = await send("POST", "/sessionpool.v1.MessageService/CountMessages", { sessionId: "s" });
        expect(JSON.parse(await textOf(counted))).toEqual({});

        const watch = await send("GET", "/session/s/message:watch?from_position=0");
        const client = new GrpcClient(`localhost:${proxy.port}`, credentials.createSsl(proxy.certificate));
        const message = { info: { id: "m1", role: "user" } };
        expect(await client.call(MessageService, "AppendMessage", { sessionId: "s", message })).toEqual({
          answer: { messageId: "m1" },
        });
        // The stream goes on, so a proxy that buffers would pass nothing on.
        const [chunk] = await once(watch, "data");
        expect(String(chunk)).toContain('"m1"');
        watch.destroy();
        client.close();
      });

      async function send(method: string, path: string, body?: object): Promise<IncomingMessage> {
        const sent = request({
          ...{ host: "localhost", port: proxy.port, ca: proxy.certificate, method, path },
          headers: body === undefined ? { accept: "text/event-stream" } : { "content-type": "application/json" },
        });
        sent.end(body && JSON.stringify(body));
        const [response] = (await once(sent, "response")) as [IncomingMessage];
        expect(response.statusCode).toBe(200);
        return response;
      }
    },
  );
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}
