import { signal } from "@preact/signals";
import { storageKey } from "./base.js";
import { ticketText } from "./ticket.js";

/** The gRPC codes that REST includes in every error body. */
export const CODE = {
  invalidArgument: 3,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  failedPrecondition: 9,
  aborted: 10,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** What the server answered instead of a result. */
export class ApiError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** No answer came: the server is down, or the network is. */
export class Unreachable extends Error {
  constructor() {
    super("The server cannot be reached");
  }
}

/**
 * Whether the key is missing, unknown, expired or removed, so that retrying with the same key is pointless. With a
 * ticket, no key helps.
 */
export function isKeyProblem(error: unknown): boolean {
  return ticketText === undefined && error instanceof ApiError && error.code === CODE.unauthenticated;
}

const KEY = storageKey("session-pool-key");

/** The API key, kept for this tab only. */
export const apiKey = signal(sessionStorage.getItem(KEY) ?? "");

/** Whether the server has asked for a key. Pages of servers without keys never show the button. */
export const keyWanted = signal(apiKey.value !== "");

export function storeKey(key: string): void {
  apiKey.value = key;
  if (key === "") sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, key);
}

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/**
 * A path of the API, relative to the page: segments are encoded, `:verb` stays as it is, parameters without a value are
 * left out.
 */
export function target(segments: readonly string[], query: Query = {}, verb = ""): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const path = `${segments.map(encodeURIComponent).join("/")}${verb && `:${verb}`}`;
  // Without a slash, what stands before a colon would be a scheme.
  const relative = path.includes("/") ? path : `./${path}`;
  return search.size === 0 ? relative : `${relative}?${search}`;
}

export interface CallOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await request(path, "application/json", options);
  return (await response.json()) as T;
}

/**
 * Three heartbeats of the server. A stream that is silent for longer has lost the server, for example while the machine
 * slept.
 */
const SILENCE_MS = 45_000;

/**
 * Calls `onOpen` when the stream has begun and, after that has resolved, `onEvent` with each of its objects, which are
 * lines of JSON. Resolves when the server ends the stream, and rejects with the error that ends it, when `onOpen` does,
 * or when nothing has come, or `onOpen` has not resolved, for 45 seconds.
 */
export async function follow<T>(
  path: string,
  { signal, onOpen, onEvent }: { signal: AbortSignal; onOpen: () => Promise<void>; onEvent: (event: T) => void },
): Promise<void> {
  const response = await request(path, "application/x-ndjson", { signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    await inTime(onOpen());
    for (;;) {
      const { value, done } = await inTime(reader.read());
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const { result, error } = JSON.parse(line);
        if (error !== undefined) throw new ApiError(error.code, error.message);
        onEvent(result);
      }
    }
  } finally {
    // Closes the connection, unless the stream has ended or failed by itself.
    void reader.cancel().catch(() => undefined);
  }
}

/** Rejects when the answer takes so long that the server must be lost. */
function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Unreachable()), SILENCE_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The bytes of a path. `onRead` hears how many have come, each time. */
export async function readBytes(
  path: string,
  { signal, onRead }: { readonly signal?: AbortSignal | undefined; readonly onRead?: (bytes: number) => void } = {},
): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  const response = await request(path, "*/*", { signal });
  const reader = response.body!.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  try {
    for (let bytes = 0; ; ) {
      const { value, done } = await inTime(reader.read());
      if (done) return chunks;
      chunks.push(value);
      bytes += value.length;
      onRead?.(bytes);
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** Sends a file as the body of a POST, and tells how many bytes have left; fetch cannot tell that. */
export function sendFile<T>(
  path: string,
  file: Blob,
  { signal, onSent }: { readonly signal: AbortSignal; readonly onSent: (bytes: number) => void },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("POST", path);
    for (const [name, value] of Object.entries(credentials())) sending.setRequestHeader(name, value);
    sending.setRequestHeader("content-type", file.type || "application/octet-stream");
    sending.upload.onprogress = ({ loaded }) => onSent(loaded);
    sending.onload = () => {
      const body = asJson(sending.responseText);
      if (sending.status === 200) resolve(body as T);
      else reject(errorOf(sending.status, sending.statusText, body));
    };
    sending.onerror = () => reject(new Unreachable());
    sending.onabort = () => reject(signal.reason);
    signal.addEventListener("abort", () => sending.abort(), { once: true });
    sending.send(file);
  });
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function credentials(): Record<string, string> {
  const credential = ticketText ?? apiKey.value;
  return credential === "" ? {} : { authorization: `Bearer ${credential}` };
}

async function request(path: string, accept: string, { method = "GET", body, signal }: CallOptions): Promise<Response> {
  const headers: Record<string, string> = { accept, ...credentials() };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable();
  }
  if (response.ok) return response;
  throw errorOf(response.status, response.statusText, asJson(await response.text()));
}

function errorOf(status: number, statusText: string, body: unknown): Error {
  if (status === 401) keyWanted.value = true;
  const { code, message } = (body ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code === "number") return new ApiError(code, String(message));
  // When the server is down, a proxy in front of it answers 502, 503 or 504 with its own page.
  return status >= 502 ? new Unreachable() : new ApiError(2, statusText || `HTTP ${status}`);
}
