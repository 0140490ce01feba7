import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Connections } from "../../../../src/server/limits/connections.js";

describe("when there are too many connections, a new one replaces", () => {
  it("the oldest one that has sent nothing, before any that has sent something", () => {
    const { connections, sockets } = fill(3);
    sockets[0]!.bytesRead = 24;
    expect(connections.add(asSocket(new FakeSocket()))).toBeDefined();
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, false]);
    expect(connections.size).toBe(3);
  });

  it("one that has sent something but made no call, before one that has made a call", () => {
    const { connections, sockets, made } = fill(3);
    for (const socket of sockets) socket.bytesRead = 24;
    made[0]!.enter();
    made[0]!.leave();
    for (let i = 0; i < 2; i += 1) {
      const next = new FakeSocket();
      next.bytesRead = 24;
      connections.add(asSocket(next));
    }
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, true]);
  });

  it("the one whose last call ended the longest ago, and never one with a running call", () => {
    const { connections, sockets, made } = fill(3);
    for (const connection of made) connection.enter();
    made[2]!.leave();
    made[0]!.leave();
    connections.add(asSocket(new FakeSocket()))?.enter();
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, true]);
    connections.add(asSocket(new FakeSocket()))?.enter();
    const refused = new FakeSocket();
    expect(connections.add(asSocket(refused))).toBeUndefined();
    expect([sockets[0]!.destroyed, sockets[1]!.destroyed, refused.destroyed]).toEqual([true, false, true]);
  });
});

it("forgets a connection that ended, whatever it was doing and whatever its calls do afterwards", () => {
  const { connections, sockets, made } = fill(3);
  made[0]!.enter();
  made[1]!.enter();
  made[1]!.leave();
  for (const socket of sockets) socket.emit("close");
  expect(connections.size).toBe(0);
  made[0]!.leave();
  made[2]!.enter();
  made[2]!.leave();
  const next = Array.from({ length: 3 }, () => new FakeSocket());
  for (const socket of next) expect(connections.add(asSocket(socket))).toBeDefined();
  expect(connections.size).toBe(3);
  expect(next.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  expect(connections.add(asSocket(new FakeSocket()))).toBeDefined();
  expect(next.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
});

class FakeSocket extends EventEmitter {
  bytesRead = 0;
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
  }
}

function fill(limit: number) {
  const connections = new Connections(limit);
  const sockets = Array.from({ length: limit }, () => new FakeSocket());
  const made = sockets.map((socket) => connections.add(asSocket(socket))!);
  return { connections, sockets, made };
}

function asSocket(socket: FakeSocket): Socket {
  return socket as unknown as Socket;
}
