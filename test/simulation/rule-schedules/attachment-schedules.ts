import { type Process, settle, told, type World } from "../world.js";
import { cut, fork, type RuleSchedule, sweepLater } from "./scenes.js";

/** Rules of attachments. */
export const ATTACHMENT_SCHEDULES: readonly RuleSchedule[] = [
  {
    rule: "doomed-then-sealed:writer",
    store: "atomic",
    what: "an append that names an attachment whose remover has looked for names already",
    good: "invalid_argument, 0 without bytes",
    async run(world) {
      const remover = await withUpload(world);
      remover.gates.close("deleteEntries");
      const removed = told(remover.deleteAttachment("a", "x"));
      await settle();
      const appended = await append(world.process(), "a");
      await remover.gates.open("deleteEntries");
      await removed;
      return `${appended}, ${lost(world)} without bytes`;
    },
  },
  {
    rule: "doomed-then-sealed:doom",
    store: "atomic",
    what: "an append that has looked at an attachment after its session got a fresh log",
    good: "invalid_argument, 0 without bytes",
    async run(world) {
      const remover = await withUpload(world);
      remover.gates.close("namings", () => world.record("a").revision > 1);
      const removed = told(remover.deleteAttachment("a", "x"));
      await settle();
      const writer = world.process();
      writer.gates.close("append");
      const appended = append(writer, "a");
      await settle();
      await remover.gates.open("namings");
      await removed;
      if (writer.gates.waiting("append") > 0) await writer.gates.open("append");
      return `${await appended}, ${lost(world)} without bytes`;
    },
  },
  {
    rule: "doomed-then-sealed:log",
    store: "atomic",
    what: "an append that has looked at an attachment before it is removed",
    good: "invalid_argument, 0 without bytes",
    async run(world) {
      const remover = await withUpload(world);
      const writer = world.process();
      writer.gates.close("append");
      const appended = append(writer, "a");
      await settle();
      await remover.deleteAttachment("a", "x");
      await writer.gates.open("append");
      return `${await appended}, ${lost(world)} without bytes`;
    },
  },
  {
    rule: "doomed-then-sealed:draft",
    store: "atomic",
    what: "an extension of a draft that has looked at an attachment before it is removed",
    good: "extended, 0 without bytes",
    async run(world) {
      const remover = await withUpload(world);
      const writer = world.process();
      await writer.startDraft("a", { id: "d", role: "user", parts: [] });
      writer.gates.close("append");
      const delta = { kind: "put_part", part: part("x") } as const;
      const extended = told(writer.extendDraft("a", "d", 1, [delta]).then(() => "extended"));
      await settle();
      await remover.deleteAttachment("a", "x");
      await writer.gates.open("append");
      return `${await extended}, ${lost(world)} without bytes`;
    },
  },
  {
    rule: "doomed-then-sealed:erased",
    store: "atomic",
    what: "an append to a fork that has looked at the message which an erasure overwrites",
    good: "invalid_argument, 0 without bytes",
    async run(world) {
      const eraser = await withUpload(world);
      await append(eraser, "a", "m");
      await fork(eraser, "a", "f");
      const writer = world.process();
      writer.gates.close("append");
      const appended = append(writer, "f");
      await settle();
      await eraser.eraseMessage("a", "m");
      await writer.gates.open("append");
      return `${await appended}, ${lost(world)} without bytes`;
    },
  },
  {
    rule: "named-sources-stay",
    store: "atomic",
    what: "a fork that names an attachment of its source, and shows nothing else of that any more",
    good: "appended, 0 without bytes",
    async run(world) {
      const process = await withUpload(world);
      await append(process, "a", "m");
      await fork(process, "a", "f");
      const appended = await append(process, "f", "older", 1);
      await process.deleteMessage("f", "m");
      await cut(process, "f", "older");
      await process.deleteSession("a");
      await sweepLater(world, 4);
      return `${appended}, ${lost(world)} without bytes`;
    },
  },
];

/** Makes a session with an attachment that nothing names. */
async function withUpload(world: World): Promise<Process> {
  const process = world.process();
  await process.createSession({ sessionId: "a" });
  const bytes = (async function* () {
    yield Buffer.from("bytes");
  })();
  await process.uploadAttachment("a", { attachmentId: "x" }, bytes);
  return process;
}

function part(attachmentId: string) {
  const attachment = { attachmentId, mediaType: "", name: "", size: 0, sha256: "" };
  return { id: "", type: "file", text: "", attachment };
}

/** Appends a message that names the attachment. */
function append(process: Process, sessionId: string, id = "n", timestampMicros?: number): Promise<string> {
  const message = { id, role: "user", parts: [part("x")], timestampMicros };
  return told(process.logMessages(sessionId, [message]).then(() => "appended"));
}

/** How many stored entries name attachments that are gone. */
function lost({ db }: World): number {
  const entries = db.logNames().flatMap((log) => db.rows(log).map(({ entry }) => entry));
  const named = entries.flatMap((entry) => entry?.body.attachments ?? []);
  return named.filter(({ log }) => db.attachments.row(log) === undefined).length;
}
