import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({});
});
afterAll(() => server.stop());

interface Told {
  readonly resumeToken: string;
  readonly created?: { readonly sessionId: string };
  readonly changed?: { readonly sessionId: string };
  readonly deleted?: { readonly sessionId: string };
  readonly heartbeat?: object;
}

/** Reads a watch of sessions until an event passes; resolves to all events. */
async function readUntil(
  query: string,
  headers: Readonly<Record<string, string>>,
  isLast: (told: Told) => boolean,
): Promise<{ readonly events: readonly Told[]; readonly ids: readonly string[] }> {
  const stop = new AbortController();
  const response = await fetch(`${server.httpUrl}/session:watch${query}`, { headers, signal: stop.signal });
  expect(response.status).toBe(200);
  const events: Told[] = [];
  const ids: string[] = [];
  let text = "";
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    const lines = text.split("\n");
    text = lines.pop() as string;
    for (const line of lines) {
      if (line.startsWith("id:")) ids.push(line.slice(3).trim());
      const json = line.startsWith("data:") ? line.slice(5) : line;
      if (json.trimStart().startsWith("{")) {
        const told = JSON.parse(json) as Told & { readonly result?: Told };
        events.push(told.result ?? told);
      }
    }
    if (events.some(isLast)) break;
  }
  stop.abort();
  return { events, ids };
}

const send = async (method: string, path: string, body?: object) => {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(server.httpUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  expect(answer.status, await answer.text()).toBe(200);
};

it("streams the feed as events and as lines, and resumes after Last-Event-ID and with resume_token", async () => {
  const begun = await readUntil("", { accept: "text/event-stream" }, ({ heartbeat }) => heartbeat !== undefined);
  const [id] = begun.ids;
  expect(id).toBe(begun.events[0]?.resumeToken);
  await send("POST", "/session", { sessionId: "a", labels: { k: "v" } });
  await send("DELETE", "/session/a");
  await send("POST", "/session", { sessionId: "b" });
  const isB = ({ created }: Told) => created?.sessionId === "b";
  const accept = { accept: "text/event-stream", "last-event-id": id as string };
  const kinds = ({ events }: { readonly events: readonly Told[] }) =>
    events.flatMap(({ created, deleted }) =>
      created ? [`+${created.sessionId}`] : deleted ? [`-${deleted.sessionId}`] : [],
    );
  expect(kinds(await readUntil("", accept, isB))).toEqual(["-a", "+b"]);
  const lines = await readUntil(`?resume_token=${id}`, { accept: "application/x-ndjson" }, isB);
  expect(kinds(lines)).toEqual(["-a", "+b"]);
});

it("refuses a token of a watch with other filters, and labels and owners that nothing can have", async () => {
  const { events } = await readUntil("?label=k%3Dv&label=a%3Db", {}, ({ heartbeat }) => heartbeat !== undefined);
  const token = events[0]?.resumeToken as string;
  const refused = async (query: string) => {
    const answer = await fetch(`${server.httpUrl}/session:watch${query}`);
    return [answer.status, ((await answer.json()) as { readonly message: string }).message];
  };
  const other = "resume_token belongs to a watch of another namespace, label or owner";
  expect(await refused(`?resume_token=${token}`)).toEqual([400, other]);
  expect(await refused(`?label=k%3Dv&owner=ada&resume_token=${token}`)).toEqual([400, other]);
  const same = await readUntil(`?label=a%3Db&label=k%3Dv&resume_token=${token}`, {}, () => true);
  expect(same.events).toHaveLength(1);
  expect(await refused("?label=k")).toEqual([400, 'label[0] is "k"; it must be key=value']);
  expect((await refused(`?owner=${"x".repeat(129)}`))[0]).toBe(400);
});
