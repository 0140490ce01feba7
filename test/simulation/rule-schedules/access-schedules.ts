import type { Call } from "../../../src/domain/call.js";
import type { FollowEvent } from "../../../src/domain/page.js";
import { type Process, settle, told, type World } from "../world.js";
import { idsOf, type RuleSchedule } from "./scenes.js";

const ADA: Call = { access: { owner: "ada" } };
const BOB: Call = { access: { owner: "bob" } };
const DELTA = { kind: "append_text", partId: "", text: "x" } as const;

/** Rules of access: what callers see that are bound to an owner, or have a ticket. */
export const ACCESS_SCHEDULES: readonly RuleSchedule[] = [
  {
    rule: "access-by-the-record:head",
    store: "atomic",
    what: "the number of messages of another's session",
    good: "not_found",
    async run(world) {
      await sessionOfAda(world);
      return told(world.process().getMessageCount("a", BOB));
    },
  },
  {
    rule: "access-by-the-record:record",
    store: "atomic",
    what: "a message of another's session",
    good: "not_found",
    async run(world) {
      await sessionOfAda(world);
      return told(world.process().getMessage("a", "m", BOB));
    },
  },
  {
    rule: "access-by-the-record:newest",
    store: "atomic",
    what: "the newest messages of another's session, which are read together with the record",
    good: "not_found",
    async run(world) {
      await sessionOfAda(world);
      return told(world.process({ readsNewest: true }).loadSession("a", { limit: 9, ...BOB }));
    },
  },
  {
    rule: "access-by-the-record:source",
    store: "atomic",
    what: "a fork of a session that gets another owner just before its forks are raised",
    good: "not_found",
    async run(world) {
      const forker = await sessionOfAda(world);
      forker.gates.close("raiseForks");
      const forked = told(forker.forkConversation("a", "b", { as: "fork", ...ADA }));
      await settle();
      await giveTo(world, "bob");
      await forker.gates.open("raiseForks");
      return forked;
    },
  },
  {
    rule: "access-by-the-record:existing",
    store: "atomic",
    what: "a retry of a fork that has another owner by now",
    good: "already_exists",
    async run(world) {
      const forker = await sessionOfAda(world);
      const fork = () => told(forker.forkConversation("a", "b", { as: "fork", ...ADA }));
      await fork();
      await world.process().updateSession("b", { owner: "bob" });
      return fork();
    },
  },
  {
    rule: "access-by-the-record:fields",
    store: "atomic",
    what: "a note on a message of a session that gets another owner just before it is named",
    good: "not_found",
    async run(world) {
      const writer = await sessionOfAda(world);
      writer.gates.close("append");
      const created = told(writer.createAnnotation("a", { messageId: "m", text: "x" }, ADA).then(() => "created"));
      await settle();
      await giveTo(world, "bob");
      await writer.gates.open("append");
      return created;
    },
  },
  {
    rule: "access-by-the-record:follower",
    store: "atomic",
    what: "what somebody learns who follows another's session from a position that it does not have",
    good: "not_found",
    async run(world) {
      await sessionOfAda(world);
      return told(world.process().followMessages("a", 7, BOB));
    },
  },
  {
    rule: "remembered-admits-owners:ticket",
    store: "atomic",
    what: "an append with a ticket that another process has revoked, by a process that knows the end of the log",
    good: "at 1, unauthenticated, m x",
    async run(world) {
      const writer = await sessionOfAda(world);
      const ticket = await ticketFor(writer);
      const first = await say(writer, ticket, "x");
      await world.process().revokeTickets("a");
      return `${first}, ${await say(writer, ticket, "y")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "remembered-admits-owners:draft",
    store: "atomic",
    what: "an extension of another's draft that the process has in memory",
    good: "not_found, 2",
    async run(world) {
      const writer = await sessionOfAda(world);
      await writer.startDraft("a", { id: "d", role: "assistant", parts: [] }, ADA);
      return `${await extend(writer, BOB)}, ${await extend(writer, ADA)}`;
    },
  },
  {
    rule: "remembered-admits-owners:append",
    store: "atomic",
    what: "an append to another's session whose end the process knows",
    good: "not_found, m",
    async run(world) {
      const writer = await sessionOfAda(world);
      return `${await say(writer, BOB, "x")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "appends-admitted-singly:turn",
    store: "atomic",
    what: "appends of several callers in one write",
    good: "at 1, not_found, at 2, m x z",
    async run(world) {
      const writer = await sessionOfAda(world);
      return `${await turn(writer, [ADA, "x"], [BOB, "y"], [{}, "z"])}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "appends-admitted-singly:older",
    store: "atomic",
    what: "an older message of an owner, beside another's append, while the owner changes",
    good: "not_found, at 2, m n z",
    async run(world) {
      const writer = await sessionOfAda(world, "m@1", "n@9");
      const { log } = world.record("a");
      writer.gates.close("append", ([to]) => to !== log);
      const answers = turn(writer, [ADA, "x@5"], [{}, "z"]);
      await settle();
      await giveTo(world, "bob");
      await writer.gates.open("append");
      return `${await answers}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "owner-change-ends-access:drafts",
    store: "atomic",
    what: "an extension of a draft by the owner before, in a process that has the draft in memory",
    good: "not_found",
    async run(world) {
      const writer = await sessionOfAda(world);
      await writer.startDraft("a", { id: "d", role: "assistant", parts: [] }, ADA);
      await giveTo(world, "bob");
      return extend(writer, ADA);
    },
  },
  {
    rule: "owner-change-ends-access:tickets",
    store: "atomic",
    what: "an append with a ticket from before the change of the owner",
    good: "unauthenticated, m",
    async run(world) {
      const ticket = await ticketFor(await sessionOfAda(world));
      await giveTo(world, "bob");
      return `${await say(world.process(), ticket, "x")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "owner-change-ends-access:log",
    store: "weak",
    what: "an append by the owner before, in a process that knows the end of the log",
    good: "not_found, m",
    async run(world) {
      const writer = await sessionOfAda(world);
      await giveTo(world, "bob");
      return `${await say(writer, ADA, "x")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "followers-ask-again:tail",
    store: "atomic",
    what: "a follower whose session gets another owner, who appends, while it reads slowly",
    good: "appended m, not_found",
    async run(world) {
      const [follow, events] = await followedByAda(world);
      await world.process().say("a", "n");
      await settle();
      await giveTo(world, "bob");
      await world.process().say("a", "x");
      await settle();
      return `${events}, ${await follow()}`;
    },
  },
  {
    rule: "followers-ask-again:follower",
    store: "atomic",
    what: "a follower whose session gets another owner in another process",
    good: "appended m, not_found",
    async run(world) {
      const [follow, events] = await followedByAda(world);
      await giveTo(world, "bob");
      await world.process().say("a", "x");
      return `${events}, ${await follow()}`;
    },
  },
  {
    rule: "hidden-not-written",
    store: "atomic",
    what: "a fork of another's session",
    good: "not_found, raised 0 times",
    async run(world) {
      await sessionOfAda(world);
      const forker = world.process();
      let raised = 0;
      forker.gates.close("raiseForks", () => ++raised === 0);
      const forked = await told(forker.forkConversation("a", "b", { as: "fork", ...BOB }));
      return `${forked}, raised ${raised} times`;
    },
  },
  {
    rule: "ancestors-until-hidden:uid",
    store: "atomic",
    what: "the ancestors of a session whose parent was another's, and whose id its owner has taken since",
    good: "own",
    async run(world) {
      const process = await sessionOfAda(world);
      await process.createSession({ sessionId: "child", parentId: "a", owner: "bob" });
      await say(process, BOB, "own", "child");
      await process.deleteSession("a");
      await process.createSession({ sessionId: "a" }, BOB);
      return withAncestors(process, "child", BOB);
    },
  },
  {
    rule: "ancestors-until-hidden:order",
    store: "atomic",
    what: "the ancestors of a session whose parent is another's and whose grandparent is its owner's",
    good: "own",
    async run(world) {
      const process = await sessionOfAda(world);
      await process.createSession({ sessionId: "b", parentId: "a", owner: "bob" });
      await say(process, BOB, "n", "b");
      await process.createSession({ sessionId: "child", parentId: "b", owner: "ada" });
      await say(process, ADA, "own", "child");
      return withAncestors(process, "child", ADA);
    },
  },
];

/** Makes a session of ada with the message m, or with others. Returns the process that knows its end. */
async function sessionOfAda(world: World, ...names: readonly string[]): Promise<Process> {
  const process = world.process();
  await process.createSession({ sessionId: "a" }, ADA);
  for (const name of names.length > 0 ? names : ["m"]) await process.say("a", name);
  return process;
}

/** Gives the session another owner, in another process. */
async function giveTo(world: World, owner: string): Promise<void> {
  await world.process().updateSession("a", { owner });
}

async function ticketFor(process: Process): Promise<Call> {
  return { access: { ticket: { sessionId: "a", ...(await process.getTicketMark("a")) } } };
}

function say(process: Process, call: Call, name: string, sessionId = "a"): Promise<string> {
  return told(process.logMessages(sessionId, [messageOf(name)], call).then(({ position }) => `at ${position}`));
}

/** Appends messages of several callers in one turn. */
async function turn(process: Process, ...appends: readonly (readonly [Call, string])[]): Promise<string> {
  const outcomes = await process.logTurn(
    "a",
    appends.map(([options, name]) => ({ messages: [messageOf(name)], options })),
  );
  const each = outcomes.map((outcome) => (outcome.ok ? `at ${outcome.result.position}` : codeOf(outcome.error)));
  return each.join(", ");
}

function extend(process: Process, call: Call): Promise<string> {
  return told(process.extendDraft("a", "d", 1, [DELTA], call));
}

/** Ada follows from the beginning and has read the message m. Returns how she reads on, and what she has read. */
async function followedByAda(world: World): Promise<readonly [() => Promise<string>, string]> {
  await sessionOfAda(world);
  const events = await world.process().followMessages("a", 0, ADA);
  const reader = events[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value } = (await reader.next()) as { value: FollowEvent };
    if (value.kind === "heartbeat") return next();
    return "message" in value ? `${value.kind} ${value.message.id}` : value.kind;
  };
  return [() => told(next()), await told(next())];
}

async function withAncestors(process: Process, sessionId: string, call: Call): Promise<string> {
  const messages = process.getSessionMessages(sessionId, { includeAncestors: true, ...call });
  return told(messages.then((all) => all.map(({ id }) => id).join(" ")));
}

function messageOf(name: string) {
  const [id, at] = name.split("@");
  return { id: id as string, role: "user", parts: [], ...(at !== undefined && { timestampMicros: Number(at) }) };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
