import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "./certificate.js";
import { freePort } from "./free-port.js";
import { poll } from "./poll.js";

/** A proxy that terminates TLS for localhost, in front of one server. */
export interface TlsProxy {
  readonly port: number;
  /** The certificate, which clients have to trust. */
  readonly certificate: Buffer;
  stop(): Promise<void>;
}

/** What a configuration is made for. */
export interface ProxyPlace {
  readonly port: number;
  /** A folder of the proxy's own. */
  readonly folder: string;
  readonly certPath: string;
  readonly keyPath: string;
  /** A file with the certificate and its key. */
  readonly bothPath: string;
}

/** Starts a proxy on a free port. `configure` makes its configuration, `args` are for a file of it in the folder. */
export async function startTlsProxy(
  program: string,
  configure: (place: ProxyPlace) => string,
  args: readonly string[],
): Promise<TlsProxy> {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-proxy-"));
  await mkdir(join(folder, "temporary"));
  const [certPath, keyPath, bothPath] = ["cert.pem", "key.pem", "both.pem"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const certificate = await makeCertificate({ certPath, keyPath });
  await writeFile(bothPath, `${certificate}\n${await readFile(keyPath, "utf8")}`);
  const port = await freePort();
  await writeFile(join(folder, "proxy.conf"), configure({ port, folder, certPath, keyPath, bothPath }));
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(program, args, { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const ended = once(child, "exit");
  await poll(() => child.exitCode !== null || isOpen(port), "the proxy listens");
  if (child.exitCode !== null) throw new Error(`${program} has ended: ${errors}`);
  return {
    port,
    certificate,
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
