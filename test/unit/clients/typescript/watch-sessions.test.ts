import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { createSessionPoolClient } from "../../../../clients/typescript/src/index.js";
import { SessionService, type WatchSessionsRequest } from "../../../../gen/sessionpool/v1/session_service_pb.js";

const heartbeat = (resumeToken: string) => ({ event: { case: "heartbeat", value: {} }, resumeToken }) as const;
const deleted = (sessionId: string) =>
  ({ event: { case: "deleted", value: { sessionId } }, resumeToken: `after ${sessionId}` }) as const;

it("a watch of sessions goes on after the last event, with the same filters, until a refusal", async () => {
  const asked: WatchSessionsRequest[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(SessionService, {
      async *watchSessions(request) {
        asked.push(request);
        if (asked.length === 1) throw new ConnectError("no server", Code.Unavailable);
        if (asked.length === 2) yield heartbeat("begun");
        if (asked.length === 3) {
          yield deleted("a");
          throw new ConnectError("too slow", Code.ResourceExhausted);
        }
        if (asked.length === 4) throw new ConnectError("too old", Code.FailedPrecondition);
      },
    });
  });
  const client = createSessionPoolClient({ transport, retries: 0 });
  const faults: string[] = [];
  const seen: string[] = [];
  const onRetry = ({ rawMessage }: ConnectError) => void faults.push(rawMessage);
  const watched = (async () => {
    const events = client.watchSessions({ label: ["k=v"], owner: "ada", onRetry });
    for await (const { event } of events) seen.push(event.case === "deleted" ? event.value.sessionId : `${event.case}`);
  })();
  await expect(watched).rejects.toMatchObject({ rawMessage: "too old" });
  expect(asked.map(({ resumeToken }) => resumeToken)).toEqual(["", "", "begun", "after a"]);
  for (const { label, owner, noOwner } of asked) expect([label, owner, noOwner]).toEqual([["k=v"], "ada", false]);
  expect(seen).toEqual(["a"]);
  expect(faults).toEqual(["no server", "The stream ended", "too slow"]);
});
