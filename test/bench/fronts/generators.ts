import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, credentials } from "@grpc/grpc-js";
import { GENERATOR_CORE, onCore } from "../processes.js";

/** A request that is sent again and again. */
export interface HttpRequest {
  readonly version: 1 | 2;
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A request without a body is a GET. */
  readonly body?: Uint8Array | undefined;
}

/** How many calls are under way at any time. */
export interface Concurrency {
  readonly connections: number;
  readonly callsEach: number;
}

/** Sends a request for some time. Resolves to the number of answers, and rejects if any call failed. */
export type Generator = (seconds: number) => Promise<number>;

/** A flag and a length, which precede each message of gRPC. */
export const GRPC_PREFIX_BYTES = 5;

/** Says what to install if a generator is missing. */
export function missingGenerators(): string | undefined {
  const missing = ["wrk", "h2load"].filter((program) => spawnSync(program, ["--version"]).error !== undefined);
  if (missing.length === 0) return undefined;
  return `${missing.join(" and ")} must be installed, on Debian by apt-get install wrk nghttp2-client`;
}

/** Makes a generator: wrk for HTTP/1.1, which sends one call at a time on each connection, and h2load for HTTP/2. */
export async function openGenerator(folder: string, request: HttpRequest, load: Concurrency): Promise<Generator> {
  const bytes = await callOnce(request);
  if (bytes === 0) throw new Error(`${request.path} has an empty answer, so that failures cannot be told from it`);
  const file = join(folder, randomBytes(6).toString("hex"));
  const url = `http://127.0.0.1:${request.port}${request.path}`;
  if (request.version === 1) {
    await writeFile(file, wrkScript(request));
    const flags = ["-t1", `-c${load.connections * load.callsEach}`, "--timeout=30s", `--script=${file}`];
    return async (seconds) => readWrk(await run("wrk", [...flags, `-d${seconds}`, url]), bytes);
  }
  await writeFile(file, request.body ?? "");
  const headers = Object.entries(request.headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const { connections, callsEach } = load;
  const flags = ["-t1", `-c${connections}`, `-m${callsEach}`, ...headers, ...(request.body ? ["-d", file] : [])];
  return async (seconds) => readH2load(await run("h2load", [...flags, `-D${seconds}`, url]), bytes);
}

function wrkScript({ headers, body }: HttpRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
  if (body !== undefined) lines.push('wrk.method = "POST"', `wrk.body = ${luaString(body)}`);
  return `${lines.join("\n")}
function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format("calls %d bytes %d failed %d\\n", summary.requests, summary.bytes, failed))
end
`;
}

function luaString(bytes: Uint8Array): string {
  return `"${Array.from(bytes, (byte) => `\\${String(byte).padStart(3, "0")}`).join("")}"`;
}

/** Returns how many calls wrk made. Throws if one of them failed. */
export function readWrk(output: string, bytesEach: number): number {
  const [, calls, bytes, failed] = /^calls (\d+) bytes (\d+) failed (\d+)$/m.exec(output)?.map(Number) ?? [];
  if (failed !== 0 || !hasAnswers(calls, bytes, bytesEach)) throw new Error(`Calls of wrk failed:\n${output}`);
  return calls as number;
}

/** Returns how many calls h2load made. Throws if one of them failed. */
export function readH2load(output: string, bytesEach: number): number {
  const counts = /(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/.exec(output)?.slice(1).map(Number);
  const [calls, ...failed] = counts ?? [];
  const bytes = Number(/\((\d+)\) data$/m.exec(output)?.[1]);
  if (failed.some((count) => count > 0) || !hasAnswers(calls, bytes, bytesEach))
    throw new Error(`Calls of h2load failed:\n${output}`);
  return calls as number;
}

/**
 * Whether there are about as many bytes as that many answers have. A call that fails over gRPC has the status 200 of
 * HTTP, and no message.
 */
function hasAnswers(calls: number | undefined, bytes: number | undefined, bytesEach: number): boolean {
  return calls !== undefined && bytes !== undefined && bytes >= 0.9 * calls * bytesEach;
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const [file, ...rest] = onCore(GENERATOR_CORE, program, args);
  return (await promisify(execFile)(file, rest)).stdout;
}

/** Resolves to the bytes of the answer; rejects if the call fails. */
async function callOnce({ version, port, path, headers, body }: HttpRequest): Promise<number> {
  if (version === 2) return callGrpcOnce(port, path, Buffer.from(body as Uint8Array).subarray(GRPC_PREFIX_BYTES));
  const method = body === undefined ? "GET" : "POST";
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: body ?? null });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.arrayBuffer()).byteLength;
}

const asIs = (bytes: Buffer) => bytes;

async function callGrpcOnce(port: number, path: string, request: Buffer): Promise<number> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, asIs, asIs, request, (error, answer) =>
        error === null && answer !== undefined ? resolve(answer.length) : reject(error),
      );
    });
  } finally {
    client.close();
  }
}
