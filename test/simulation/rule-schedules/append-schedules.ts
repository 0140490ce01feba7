import { type Process, settle, told, type World } from "../world.js";
import {
  copy,
  cut,
  fork,
  idsOf,
  LATER_MS,
  type RuleSchedule,
  sessionOf,
  sweepLater,
  withPartOfABatch,
} from "./scenes.js";

/** Rules of appends and pages. */
export const APPEND_SCHEDULES: readonly RuleSchedule[] = [
  {
    rule: "named-logs-only:store",
    store: "atomic",
    what: "an append to a fork on a head from before its edit, by a process whose clock stands still",
    good: "at 1, m z",
    async run(world) {
      await sessionOf(world, "m", "n");
      const forker = world.process({ clockMs: () => 0 });
      await fork(forker, "a", "b");
      await cut(world.process(), "b", "m");
      await sweepLater(world);
      return `${await forker.say("b", "z")}, ${await idsOf(world, "b")}`;
    },
  },
  {
    rule: "sums-with-entries:read",
    store: "atomic",
    what: "an append with usage by a process that has not seen the ones before",
    good: "2 calls, 3 tokens",
    async run(world) {
      await use(await sessionOf(world), "m", 1);
      await use(world.process(), "n", 2);
      return usageOf(world);
    },
  },
  {
    rule: "sums-with-entries:known",
    store: "atomic",
    what: "an append with usage after another process has appended one",
    good: "3 calls, 7 tokens",
    async run(world) {
      const process = await sessionOf(world);
      await use(process, "m", 1);
      await use(world.process(), "n", 2);
      await process.ids("a");
      await use(process, "o", 4);
      return usageOf(world);
    },
  },
  {
    rule: "head-dated-before:new-session",
    store: "weak",
    what: "an append to a fork whose creation was answered only after it was edited and swept",
    good: "at 1, m z",
    async run(world) {
      await sessionOf(world, "m", "n");
      const forker = world.process({ clockMs: () => 0 });
      forker.gates.close("answer of createRecord");
      const forked = fork(forker, "a", "b");
      await settle();
      await cut(world.process(), "b", "m");
      await sweepLater(world);
      await forker.ids("a");
      await forker.gates.open("answer of createRecord");
      await forked;
      return `${await forker.say("b", "z")}, ${await idsOf(world, "b")}`;
    },
  },
  {
    rule: "head-dated-before:append",
    store: "weak",
    what: "an append after one whose answer came only when later messages had been cut and swept",
    good: "at 1, at 2, m n z",
    async run(world) {
      const writer = await sessionOf(world, "m");
      writer.gates.close("answer of insert");
      const first = writer.say("a", "n");
      await settle();
      await world.process().say("a", "o");
      await cut(world.process(), "a", "n");
      await sweepLater(world);
      await writer.ids("a");
      await writer.gates.open("answer of insert");
      return `${await first}, ${await writer.say("a", "z")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "update-time-with-append",
    store: "atomic",
    what: "a list of sessions right after an append to the one that had not changed for the longest time",
    good: "a b",
    async run(world) {
      const process = await sessionOf(world);
      await process.createSession({ sessionId: "b" });
      world.nowMs += LATER_MS;
      await process.say("a", "m");
      const { sessions } = await world.process().listSessions({ parentId: "", limit: 9 });
      return sessions.map(({ sessionId }) => sessionId).join(" ");
    },
  },
  {
    rule: "look-up-in-segments:appends",
    store: "atomic",
    what: "a retry of an append across a seal",
    good: "at 1, m n",
    async run(world) {
      const process = await sessionOf(world, "m", "n", "o");
      await cut(process, "a", "n");
      return `${await process.say("a", "n")}, ${await process.ids("a")}`;
    },
  },
  {
    rule: "look-up-in-segments:older",
    store: "atomic",
    what: "an older message that another process appends, too, before the record names the first one",
    good: "at 1, m q n",
    async run(world) {
      const process = await sessionOf(world, "m@1", "n@9");
      process.gates.close("seal");
      const answer = process.say("a", "q@5");
      await settle();
      await world.process().say("a", "q@5");
      await process.gates.open("seal");
      return `${await answer}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "look-up-in-segments:copy",
    store: "atomic",
    what: "a copy that another process makes, too, before the record names the first one",
    good: "copied 0, x t y",
    async run(world) {
      const process = await sessionOf(world, "x@1", "y@9");
      await process.createSession({ sessionId: "b" });
      await process.say("b", "t@5");
      process.gates.close("seal");
      const copied = copy(process);
      await settle();
      await copy(world.process());
      await process.gates.open("seal");
      return `${await copied}, ${await idsOf(world, "b")}`;
    },
  },
  {
    rule: "repeated-id-ignores-position",
    store: "atomic",
    what: "a retry of a batch whose messages are known",
    good: "at 0",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      const messages = ["m", "n"].map((id) => ({ id, role: "user", parts: [] }));
      const retry = process.logMessages("a", messages, { expectedPosition: 7 });
      return told(retry.then(({ position }) => `at ${position}`));
    },
  },
  {
    rule: "refusals-re-read",
    store: "atomic",
    what: "an expected position that a cached head does not know yet",
    good: "at 2",
    async run(world) {
      const process = await sessionOf(world, "m");
      await world.process().say("a", "n");
      const append = process.logMessages("a", [{ id: "o", role: "user", parts: [] }], { expectedPosition: 2 });
      return told(append.then(({ position }) => `at ${position}`));
    },
  },
  {
    rule: "cut-batch-goes-on",
    store: "weak",
    what: "an edit that removes the first of two appends that were written together",
    good: "removed 1, m y",
    async run(world) {
      const writer = await sessionOf(world, "m");
      writer.gates.close("insert");
      const appends = ["x", "y"].map((id) => ({ messages: [{ id, role: "user", parts: [] }] }));
      const turn = told(writer.logTurn("a", appends));
      await settle();
      await writer.gates.letOne("insert");
      const removed = await cut(world.process(), "a", "m");
      await writer.gates.open("insert");
      await turn;
      return `removed ${removed}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "whole-batches-only:end",
    store: "weak",
    what: "the whole history while a batch is being written",
    good: "m",
    async run(world) {
      await withPartOfABatch(world);
      return idsOf(world, "a");
    },
  },
  {
    rule: "whole-batches-only:page",
    store: "weak",
    what: "a page while a batch is being written",
    good: "m",
    async run(world) {
      await withPartOfABatch(world);
      const { messages } = await world.process().listMessages("a", { limit: 9 });
      return messages.map(({ id }) => id).join(" ");
    },
  },
  {
    rule: "whole-batches-only:message",
    store: "weak",
    what: "a message of a batch that is being written",
    good: "null",
    async run(world) {
      await withPartOfABatch(world);
      return told(world.process().getMessage("a", "x"));
    },
  },
  {
    rule: "token-by-id",
    store: "atomic",
    what: "a page token after the history was copied into a fresh log",
    good: "n o",
    async run(world) {
      const process = await sessionOf(world, "m@1", "n@5", "o@9");
      const { next } = await process.listMessages("a", { limit: 1 });
      await cut(process, "a", "n");
      await process.say("a", "o@9");
      await world.process({ maxSegments: 1 }).say("a", "l@1");
      const page = process.listMessages("a", { limit: 9, cursor: next });
      return told(
        page.then(({ messages }) =>
          messages
            .map(({ id }) => id)
            .slice(-2)
            .join(" "),
        ),
      );
    },
  },
];

/** Appends a message whose usage is this number of tokens. */
function use(process: Process, id: string, inputTokens: number): Promise<unknown> {
  return process.logMessages("a", [{ id, role: "user", parts: [], usage: { inputTokens } }]);
}

async function usageOf(world: World): Promise<string> {
  const { usage } = await world.process().getSession("a");
  return `${usage?.calls} calls, ${usage?.inputTokens} tokens`;
}
