/** Calls of the REST API from the pages. */

const KEY = "session-pool-key";

/** What the server answered; `code` is gRPC's. */
export class ApiError extends Error {
  constructor({ code, message }) {
    super(message);
    this.code = code;
  }
}

export function storedKey() {
  return sessionStorage.getItem(KEY) ?? "";
}

export function storeKey(key) {
  if (key === "") sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, key);
}

/** A path of the API; every segment is encoded, parameters without a value are left out. */
export function target(segments, query = {}) {
  const path = segments
    .map((segment) => (typeof segment === "string" ? encodeURIComponent(segment) : segment.verb))
    .join("/");
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `/${path}${given.length === 0 ? "" : `?${search}`}`;
}

/** A segment that is sent as it is, such as `message:watch`. */
export function verb(text) {
  return { verb: text };
}

export async function get(path, signal) {
  const response = await request(path, "application/json", signal);
  return response.json();
}

/** Calls back with each object of a stream of JSON lines; resolves when the server ends it, and throws what it ends with. */
export async function follow(path, onEvent, signal) {
  const response = await request(path, "application/x-ndjson", signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const { result, error } = JSON.parse(line);
      if (error !== undefined) throw new ApiError(error);
      onEvent(result);
    }
  }
}

async function request(path, accept, signal) {
  const key = storedKey();
  const headers = { accept, ...(key && { authorization: `Bearer ${key}` }) };
  const response = await fetch(path, { headers, signal });
  if (response.ok) return response;
  throw new ApiError(await response.json().catch(() => ({ message: response.statusText })));
}
