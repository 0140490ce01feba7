import type { Worker } from "node:cluster";
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { handOver } from "../../../src/commands/hand-over.js";

it("closes the connections that the last worker was given and has not confirmed when it ends", () => {
  const { worker, give, confirm } = makeWorker();
  handOver(worker, () => false);
  const [confirmed, refused, lost] = [give(1), give(2), give(3)];
  confirm(1, true);
  confirm(2, false);
  worker.emit("disconnect");
  // Node itself takes care of those that the worker answered.
  expect([confirmed, refused, lost]).toMatchObject([{ isClosed: false }, { isClosed: false }, { isClosed: true }]);
});

it("lets Node give them to another worker if there is one", () => {
  const { worker, give, answers } = makeWorker();
  handOver(worker, () => true);
  const lost = give(1);
  worker.emit("disconnect");
  expect(answers).toEqual([{ cmd: "NODE_CLUSTER", ack: 1, accepted: false }]);
  expect(lost.isClosed).toBe(false);
});

it("passes on all messages, and keeps none of what it does not know", () => {
  const { worker, sent } = makeWorker();
  handOver(worker, () => false);
  const port = { close: () => expect.fail("this is no connection") };
  const messages = [
    [{ kind: "reload" }],
    [{ cmd: "NODE_CLUSTER", act: "disconnect", seq: 1 }],
    [{ cmd: "NODE_CLUSTER", ack: 1, seq: 2 }, port],
    [{ cmd: "NODE_CLUSTER", act: "newconn", seq: 3 }, {}],
  ];
  for (const message of messages) worker.process.send?.(...(message as [object]));
  worker.emit("disconnect");
  expect(sent).toEqual(messages);
});

/** A worker that sends nothing itself. */
function makeWorker() {
  const sent: unknown[][] = [];
  const answers: object[] = [];
  const child = Object.assign(new EventEmitter(), {
    send: (...args: unknown[]) => sent.push(args) > 0,
    disconnect: () => {},
  });
  child.on("internalMessage", (message) => answers.push(message));
  const worker = Object.assign(new EventEmitter(), { process: child }) as unknown as Worker;
  return {
    worker,
    sent,
    answers,
    /** Does what Node does when it hands a connection to the worker. */
    give: (seq: number) => {
      const connection = {
        isClosed: false,
        close: () => {
          connection.isClosed = true;
        },
      };
      child.send({ cmd: "NODE_CLUSTER", act: "newconn", seq }, connection);
      return connection;
    },
    confirm: (ack: number, accepted: boolean) => child.emit("internalMessage", { cmd: "NODE_CLUSTER", ack, accepted }),
  };
}
