// Writes a store to look at in the console: sessions of the last three weeks, with forks, failed calls, what the calls
// of models took, notes, owners, and one long session.
//
//   mkdir -p data
//   node scripts/demo-store.mjs > data/demo.jsonl
//   node dist/main.js import --storage sqlite:data/demo.db data/demo.jsonl
//   node dist/main.js serve --storage sqlite:data/demo.db
//
// With --answers it prints what a reader should find out instead (docs/console.md has the questions).
import { DEMO_QUESTIONS, sessionsOfDemo } from "./demo/sessions.mjs";

const TODOS = [
  { id: "t1", content: "Add an alert for imports that store no row", status: "in_progress", priority: "high" },
  { id: "t2", content: "Tell sales about customer_ref", status: "pending", priority: "medium" },
  { id: "t3", content: "Find out why the import fails", status: "completed", priority: "high" },
];

const sessions = sessionsOfDemo(Date.now());
if (process.argv.includes("--answers")) {
  for (const [question, answer] of DEMO_QUESTIONS) console.log(`${question}\n  ${answer}`);
} else {
  for (const line of linesOf(sessions)) console.log(JSON.stringify(line));
}

/**
 * The format of `session-pool export`: messages are numbered in the order of the file, and each session lists the
 * numbers of its messages.
 */
function* linesOf(all) {
  yield { format: "session-pool", version: 4 };
  const firstOf = new Map();
  let next = 1;
  for (const { session, messages, parent } of all) {
    firstOf.set(session.sessionId, next);
    const runs = [];
    if (parent) {
      const first = firstOf.get(parent.sessionId);
      runs.push([first, first + parent.count - 1]);
    }
    if (messages.length > 0) runs.push([next, next + messages.length - 1]);
    yield { session: { ...session, ...forkFields(parent, all), messages: runs } };
    for (const message of messages) yield { message };
    next += messages.length;
  }
  yield { todos: TODOS };
}

function forkFields(parent, all) {
  if (!parent) return {};
  const source = all.find(({ session }) => session.sessionId === parent.sessionId);
  const upToMessageId = source.messages[parent.count - 1].id;
  return {
    parentId: parent.sessionId,
    forkPointId: upToMessageId,
    inheritedCount: parent.count,
    origin: { kind: "fork", sourceSessionId: parent.sessionId, upToMessageId, sourceLives: true },
  };
}
