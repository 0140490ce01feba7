import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { freePort } from "./free-port.js";
import { poll } from "./poll.js";
import { NotHere } from "./toolchain.js";

export interface Nginx {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Resolves to the program. Debian keeps such programs in a folder that the PATH of an ordinary user lacks. */
export async function findProgram(name: string): Promise<string> {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
  const found = folders.map((folder) => join(folder, name)).find(existsSync);
  if (found === undefined) throw new NotHere(`no ${name} on the PATH`);
  return found;
}

export function findNginx(): Promise<string> {
  return findProgram("nginx");
}

/**
 * Starts nginx in one process on a free port. `locations`: what its one server does. Answers may be cached in the zone
 * `answers`.
 */
export async function startNginx(program: string, locations: string): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-nginx-"));
  await mkdir(join(folder, "temporary"));
  const port = await freePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const config = `
    daemon off;
    master_process off;
    pid nginx.pid;
    error_log stderr;
    events {}
    http {
      access_log off;
      ${temporary.map((kind) => `${kind}_temp_path temporary/${kind};`).join("\n")}
      proxy_cache_path cache keys_zone=answers:1m;
      server {
        listen 127.0.0.1:${port};
        ${locations}
      }
    }`;
  await writeFile(join(folder, "nginx.conf"), config);
  const child = spawn(program, ["-e", "stderr", "-p", folder, "-c", "nginx.conf"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const ended = once(child, "exit");
  const url = `http://127.0.0.1:${port}`;
  await poll(() => child.exitCode !== null || answers(url), "nginx answers");
  if (child.exitCode !== null) throw new Error(`nginx has ended: ${errors}`);
  return {
    url,
    stop: async () => {
      child.kill();
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
