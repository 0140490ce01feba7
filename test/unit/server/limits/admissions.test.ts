import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../../../../src/config/config.js";
import type { Principal } from "../../../../src/server/auth/principal.js";
import { Admissions } from "../../../../src/server/limits/admissions.js";
import { Connections } from "../../../../src/server/limits/connections.js";

const ANN: Principal = { name: "ann", namespace: "a", scope: "write" };
const BOB: Principal = { name: "bob", namespace: "a", scope: "write" };
const LIMITS: ServerLimits = {
  ...DEFAULT_SERVER_LIMITS,
  ...{ inFlightCalls: 4, watchers: 4, connections: 4, bufferedBytes: 100 },
  perKey: { inFlightCalls: 2, watchers: 2, connections: 2, bufferedBytes: 60 },
};

const exhausted = (message: RegExp) =>
  expect.objectContaining({ code: Code.ResourceExhausted, message: expect.stringMatching(message) });

describe("the limits of one key", () => {
  it.each(["call", "stream"] as const)("leave room in the process for another key (%s)", (kind) => {
    const admissions = new Admissions(LIMITS, { perKey: true });
    const held = [admissions.admit(kind, ANN, undefined), admissions.admit(kind, ANN, undefined)];
    expect(() => admissions.admit(kind, ANN, undefined)).toThrow(exhausted(/^The key "ann" may have 2/));
    for (const who of [BOB, BOB]) admissions.admit(kind, who, undefined);
    expect(() => admissions.admit(kind, { ...ANN, namespace: "b" }, undefined)).toThrow(exhausted(/^The server/));
    held[0]?.end();
    admissions.admit(kind, ANN, undefined);
  });

  it("leave room for a key whose name somebody has in a token", () => {
    const admissions = new Admissions(LIMITS, { perKey: true });
    const token = { ...ANN, id: "token ann" };
    for (const who of [token, token]) admissions.admit("call", who, undefined);
    expect(() => admissions.admit("call", token, undefined)).toThrow(exhausted(/^The key "ann" may have 2/));
    for (const who of [ANN, ANN]) admissions.admit("call", who, undefined);
  });

  it("leave memory of the process for another key, and a call that has ended frees its memory", () => {
    const admissions = new Admissions(LIMITS, { perKey: true });
    const first = admissions.admit("call", ANN, undefined);
    first.hold(60);
    expect(() => first.hold(1)).toThrow(exhausted(/^The key "ann" may have 60 bytes/));
    const other = admissions.admit("call", BOB, undefined);
    other.hold(40);
    expect(() => other.hold(1)).toThrow(exhausted(/^The server may have 100 bytes/));
    first.leave();
    expect(admissions.bufferedBytes).toBe(100);
    first.end();
    first.end();
    expect(admissions.bufferedBytes).toBe(40);
    other.hold(20);
  });

  it("apply to connections, and a connection that ends frees its place", () => {
    const admissions = new Admissions(LIMITS, { perKey: true });
    const connections = new Connections(10);
    const sockets = [0, 1, 2].map(() => new FakeSocket());
    const [one, two, three] = sockets.map((socket) => connections.add(socket as unknown as Socket));
    for (const connection of [one, two, one]) admissions.admit("call", ANN, connection).end();
    expect(() => admissions.admit("call", ANN, three)).toThrow(exhausted(/2 connections/));
    admissions.admit("call", BOB, three).end();
    sockets[0]?.destroy();
    admissions.admit("call", ANN, three).end();
  });

  it("count all requests without a key as one, and do not apply when the server requires no keys", () => {
    const admissions = new Admissions(LIMITS, { perKey: true });
    for (let i = 0; i < 2; i += 1) admissions.admit("stream", undefined, undefined);
    expect(() => admissions.admit("stream", undefined, undefined)).toThrow(
      exhausted(/^Callers without a key may have 2/),
    );
    const open = new Admissions(LIMITS, { perKey: false });
    for (let i = 0; i < 4; i += 1) open.admit("stream", ANN, undefined);
    expect(() => open.admit("stream", ANN, undefined)).toThrow(exhausted(/^The server may have 4/));
  });
});

it("serves pages when the memory for requests and answers is used up", () => {
  const admissions = new Admissions(LIMITS, { perKey: false });
  admissions.admit("call", ANN, undefined).hold(100);
  const page = admissions.admit("page", undefined, undefined);
  page.hold(1000);
  expect(() => page.hold(2 ** 30)).toThrow(exhausted(/^Pages/));
});

describe("connections beyond the limit", () => {
  it("replace silent ones first, then the one that has been idle the longest, never one with a running call", () => {
    const connections = new Connections(3);
    const [silent, busy, idle, fourth, fifth] = Array.from({ length: 5 }, () => new FakeSocket()) as [
      FakeSocket,
      FakeSocket,
      FakeSocket,
      FakeSocket,
      FakeSocket,
    ];
    const add = (socket: FakeSocket) => connections.add(socket as unknown as Socket);
    add(silent);
    add(busy)?.enter();
    const idleOne = add(idle);
    idleOne?.enter();
    idleOne?.leave();
    const fourthOne = add(fourth);
    expect([silent, busy, idle].map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
    fourthOne?.enter();
    add(fifth)?.enter();
    expect([busy, idle, fourth].map(({ destroyed }) => destroyed)).toEqual([false, true, false]);
    const refused = new FakeSocket();
    expect(add(refused)).toBeUndefined();
    expect(refused.destroyed).toBe(true);
    expect(connections.size).toBe(3);
    busy.destroy();
    expect(add(new FakeSocket())).toBeDefined();
  });
});

/** The part of a socket that Connections uses. */
class FakeSocket extends EventEmitter {
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}
