import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { parseAddress } from "../config/config.js";

const TIMEOUT_MS = 3000;

export interface HealthFlags {
  readonly httpAddress: string;
  readonly tlsCert?: string | undefined;
}

/** Resolves when the server with these flags on this machine is ready; otherwise rejects with a one-line message. */
export function checkHealth({ httpAddress, tlsCert }: HealthFlags): Promise<void> {
  const { host, port } = parseAddress("--http-address", httpAddress);
  const options = { host: reachable(host), port, path: "/readyz", timeout: TIMEOUT_MS };
  return new Promise((resolve, reject) => {
    // The certificate names the host that clients use rather than this machine. Nothing secret is sent to the server.
    const request =
      tlsCert === undefined ? httpRequest(options) : httpsRequest({ ...options, rejectUnauthorized: false });
    request.on("response", (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`The server is not ready: ${response.statusCode}`));
    });
    request.on("timeout", () => request.destroy(new Error("no answer")));
    request.on("error", (cause: NodeJS.ErrnoException) => {
      // A server with TLS hangs up on whoever speaks plain HTTP.
      const hint = tlsCert === undefined && cause.code === "ECONNRESET" ? " (does it need --tls-cert?)" : "";
      reject(new Error(`The server cannot be reached: ${cause.message}${hint}`, { cause }));
    });
    request.end();
  });
}

/** The address to connect to when the server listens on all addresses of this machine. */
function reachable(host: string): string {
  return host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
}
