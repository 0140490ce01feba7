import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { API_METHODS, type ApiMethod } from "../../src/api/method-table.js";
import { FAILURES, type Failure, MANY_VALUES, OVERSIZED, SMALL_BODY_BYTES } from "./table/failures.js";
import type { Front, Outcome } from "./table/fronts.js";
import { ERROR_NAMES, type Expected, type Json, type Row, type Rpc } from "./table/row.js";
import { ROWS } from "./table/rows.js";
import { OCCUPIED_MS, TestBed } from "./table/test-bed.js";

const METHODS = new Map<string, ApiMethod>(API_METHODS.map((method) => [rpcOf(method.desc), method]));
const HANGING_MS = 250;
const LIST_TODOS = "TodoService.ListTodos";

let bed: TestBed;
/** A server with a short deadline for unary calls. */
let hastyBed: TestBed;
/** A server that takes only one call and one stream at a time, and already has both. */
let busyBed: TestBed;

beforeAll(async () => {
  bed = await TestBed.start();
  hastyBed = await TestBed.start({ unaryDeadlineMs: HANGING_MS });
  busyBed = await TestBed.start({ inFlightCalls: 1, watchers: 1, unaryDeadlineMs: OCCUPIED_MS });
  await busyBed.occupy();
});

afterAll(async () => {
  for (const one of [bed, hastyBed, busyBed]) await one.stop();
});

describe("every front gives the same answer:", () => {
  for (const [number, row] of ROWS.entries()) {
    it(`${row.rpc}: ${row.what}`, async () => {
      const outcomes = await onEveryFront(bed, row, (front) => callRow(row, front, `row-${number}-${front.name}`));
      for (const [front, outcome] of outcomes) expectOutcome(front, outcome, row);
    });
  }
});

describe.each(FAILURES)("every front fails the same way with $what:", (failure) => {
  const failing = [...METHODS].filter(([, method]) => canFail(method, failure));

  it.each(failing)("%s", async (rpc) => {
    const row = goodRow(rpc as Rpc);
    const server = failure.isServerBusy ? busyBed : failure.store === "hanging" ? hastyBed : bed;
    const key = await keyOf(server, failure);
    const outcomes = await onEveryFront(server, row, (front) =>
      front.call(METHODS.get(rpc)!.desc, row.request, { ...(key !== undefined && { key }), take: 1 }),
    );
    for (const [front, outcome] of outcomes) expectOutcome(front, outcome, failure);
  });
});

describe("a key of another namespace changes and sees nothing on any front:", () => {
  it.each([...METHODS])("%s", async (rpc, { desc }) => {
    const row = goodRow(rpc as Rpc);
    const grpc = bed.fronts[0]!;
    for (const front of bed.fronts.filter((one) => one.serves(desc))) {
      const owner = `owner-${rpc}-${front.name}`.replaceAll(" ", "-");
      const callAs = async (namespace: string) =>
        shapeOf(await front.call(desc, row.request, { key: await bed.key(namespace), take: 1 }));
      const whenEmpty = await callAs(`${owner}-before`);
      const key = await bed.key(owner);
      for (const [before, body] of row.given ?? []) await grpc.call(METHODS.get(before)!.desc, body, { key, take: 1 });
      const listed = async () => [
        await grpc.call(METHODS.get("SessionService.ListSessions")!.desc, {}, { key, take: 1 }),
        await grpc.call(METHODS.get(LIST_TODOS)!.desc, {}, { key, take: 1 }),
      ];
      const before = await listed();
      expect({ front: front.name, ...(await callAs(`${owner}-other`)) }).toEqual({ front: front.name, ...whenEmpty });
      expect(await listed()).toEqual(before);
    }
  });
});

it("every front refuses a body over its limit", async () => {
  const small = await TestBed.start({ bodyBytes: SMALL_BODY_BYTES });
  const key = await small.key("small");
  const { desc } = METHODS.get(OVERSIZED.rpc)!;
  for (const front of small.fronts.filter((one) => one.serves(desc))) {
    const outcome = await front.call(desc, OVERSIZED.request, { key, take: 1 });
    // grpc-js refuses the body with an error text of its own, before any code of the server runs.
    const error = front.name === "grpc-js" ? { code: OVERSIZED.error.code } : OVERSIZED.error;
    expectOutcome(front.name, outcome, { error });
  }
  await small.stop();
});

it("every front refuses to make tickets without a secret", async () => {
  const plain = await TestBed.start({}, { makesTickets: false });
  const key = await plain.key("plain");
  const { desc } = METHODS.get("SessionService.CreateTicket")!;
  const message = "The server has no secret for tickets: --ticket-secret-file";
  for (const front of plain.fronts.filter((one) => one.serves(desc))) {
    const outcome = await front.call(desc, { sessionId: "s", scope: "read" }, { key, take: 1 });
    expectOutcome(front.name, outcome, { error: { code: "failed_precondition", message } });
  }
  await plain.stop();
});

it.each(MANY_VALUES.refused)("every front refuses a request with more values than fit into %j", async (load, error) => {
  const small = await TestBed.start(load);
  const key = await small.key("small");
  const { desc } = METHODS.get(MANY_VALUES.rpc)!;
  for (const front of small.fronts.filter((one) => one.serves(desc))) {
    expectOutcome(front.name, await front.call(desc, MANY_VALUES.request, { key, take: 1 }), { error });
  }
  await small.stop();
});

it.each(["connect-node gRPC", "Connect JSON", "Connect binary", "gRPC-Web", "gRPC-Web JSON"])(
  "%s refuses to write todos on the HTTP port",
  async (name) => {
    const front = bed.fronts.find((one) => one.name === name)!;
    const { desc } = METHODS.get("TodoTrackerService.AddTodo")!;
    const message = "No such RPC: /sessionpool.v1.TodoTrackerService/AddTodo";
    const outcome = await front.call(desc, { todo: { content: "x" } }, { key: await bed.key("todos"), take: 1 });
    expect(outcome).toEqual({ error: { code: "unimplemented", message } });
  },
);

describe("the table", () => {
  it.each([...METHODS.keys()])("has a successful call of %s, and one that fails with an error of its own", (rpc) => {
    const rows = ROWS.filter((row) => row.rpc === rpc);
    expect(rows.some((row) => "answer" in row || "events" in row)).toBe(true);
    // ListTodos fails only in the ways in which every call can fail.
    expect(rows.some((row) => "error" in row)).toBe(rpc !== LIST_TODOS);
  });

  it("covers every error code that a server can answer with", () => {
    const codes = [...ROWS, ...FAILURES].flatMap((row) => ("error" in row ? [row.error.code] : []));
    // The client of a canceled call never sees the server's answer.
    expect(new Set(codes)).toEqual(new Set(Object.values(ERROR_NAMES).filter((name) => name !== "canceled")));
  });
});

async function callRow({ rpc, given = [], request, ...expected }: Row, front: Front, namespace: string) {
  const key = await bed.key(namespace.replaceAll(" ", "-"));
  const grpc = bed.fronts[0]!;
  for (const [before, body] of given) {
    const outcome = await grpc.call(METHODS.get(before)!.desc, body, { key, take: 1 });
    if ("error" in outcome) throw new Error(`${before} failed: ${outcome.error.message}`);
  }
  const take = "events" in expected ? expected.events.length : 1;
  return front.call(METHODS.get(rpc)!.desc, request, { key, take });
}

async function onEveryFront(
  { fronts }: TestBed,
  { rpc }: Pick<Row, "rpc">,
  call: (front: Front) => Promise<Outcome>,
): Promise<readonly (readonly [string, Outcome])[]> {
  const serving = fronts.filter((front) => front.serves(METHODS.get(rpc)!.desc));
  const outcomes = await Promise.all(serving.map(async (front) => [front.name, await call(front)] as const));
  const texts = new Set(outcomes.flatMap(([, outcome]) => ("error" in outcome ? [outcome.error.message] : [])));
  expect([...texts]).toEqual([...texts].slice(0, 1));
  return outcomes;
}

function expectOutcome(front: string, outcome: Outcome, expected: Expected): void {
  if ("error" in expected) {
    const { code, message = expect.stringMatching(/./) } = expected.error;
    expect({ front, ...outcome }).toEqual({ front, error: { code, message } });
  } else {
    const { rpc: _rpc, what: _what, given: _given, request: _request, ...wanted } = expected as Row;
    expect({ front, ...outcome }).toEqual({ front, ...(withAny(wanted as Json) as Json) });
  }
}

/** Replaces "$any" with a matcher for any text that is not empty. */
function withAny(value: JsonValue): unknown {
  if (value === "$any") return expect.stringMatching(/./);
  if (Array.isArray(value)) return value.map(withAny);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withAny(one)]));
}

/**
 * Whether a call of the method can fail this way. A key with the scope read is refused only where another scope is
 * needed, and a key with the scope write only where admin is needed. ListTodos succeeds on a provider that lacks the
 * operation. A watch has no deadline that a hanging store could exceed.
 */
function canFail({ scope, desc, isTransfer }: ApiMethod, { key, store }: Failure): boolean {
  if (key === "read") return scope !== "read";
  if (key === "write") return scope === "admin";
  if (store === "lacking") return rpcOf(desc) !== LIST_TODOS;
  return !(store === "hanging" && desc.methodKind === "server_streaming" && !isTransfer);
}

function goodRow(rpc: Rpc): Row {
  return ROWS.find((row) => row.rpc === rpc && !("error" in row))!;
}

async function keyOf(server: TestBed, { key, store }: Failure): Promise<string | undefined> {
  if (key === "none") return undefined;
  return key === "wrong" ? "wrong" : server.key(store ?? "well", key);
}

/**
 * Returns the part of an outcome that does not depend on the ids and times that the server makes: an error, or the
 * names of the answer's fields.
 */
function shapeOf(outcome: Outcome): object {
  if ("error" in outcome) return outcome;
  const shown = "answer" in outcome ? outcome.answer : outcome.events;
  return { fields: Object.keys(shown as object) };
}

function rpcOf({ parent, name }: DescMethod): Rpc {
  return `${parent.name}.${name}` as Rpc;
}
