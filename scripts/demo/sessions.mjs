// The sessions of the demo store. Times are counted back from the moment at which it is made.
import { call, codingSteps, dialogue, result, say } from "./messages.mjs";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const DEMO_QUESTIONS = [
  [
    "Which tool call failed in the session “Nightly import: map the column”, and why?",
    "bash (npm test): AssertionError, orders.reference was undefined instead of C-1009.",
  ],
  [
    "Where did that session leave its parent?",
    "After the assistant's message #3 of “Nightly import fails”, which names the two ways out.",
  ],
  [
    "What did the user ask first in “Move the billing service to Postgres”?",
    "Whether the service can move without downtime.",
  ],
  [
    "What has changed since yesterday?",
    "Four sessions changed; three of them are new: the two forks of the import and “Release notes for 2.4”.",
  ],
];

/** A list of `{session, messages, parent}` in the order of the file, in which parents come first. */
export function sessionsOfDemo(nowMs) {
  return [...older(nowMs), ...imports(nowMs), releaseNotes(nowMs), billing(nowMs)];
}

function session(sessionId, title, createMs, updateMs, labels = {}) {
  return {
    ...{ sessionId, title, labels },
    createTimeMicros: createMs * 1000,
    updateTimeMicros: updateMs * 1000,
    revision: 1,
  };
}

/** The milliseconds between consecutive messages: typical times of calls and of written answers. */
const PACES_MS = [6400, 1200, 23_000, 14_000, 4100, 31_000, 2700, 780, 410, 95_000, 1900];

function paceMs(i) {
  return PACES_MS[i % PACES_MS.length];
}

/** Sets the times of messages so that they follow each other at those paces and the last one is at `endMs`. */
function timed(prefix, messages, endMs) {
  let atMs = endMs - messages.slice(1).reduce((sum, _, i) => sum + paceMs(i), 0);
  return messages.map((message, i) => {
    if (i > 0) atMs += paceMs(i - 1);
    return { id: `${prefix}-${i}`, timestampMicros: atMs * 1000, ...message };
  });
}

/**
 * Sets the times of two messages and of the steps that follow them. A step is a call, its result and a comment, and
 * begins 40 minutes after the one before.
 */
function inSteps(prefix, messages, endMs) {
  const stepOf = (i) => Math.floor((i + 1) / 3);
  const last = stepOf(messages.length - 1);
  return messages.map((message, i) => {
    const beganMs = endMs - (last - stepOf(i)) * 40 * MINUTE;
    const sinceMs = [0, paceMs(stepOf(i)), paceMs(stepOf(i)) + 4200][(i + 1) % 3];
    return { id: `${prefix}-${i}`, timestampMicros: (beganMs + sinceMs) * 1000, ...message };
  });
}

function imports(nowMs) {
  const beganMs = nowMs - 3 * DAY;
  const shared = dialogue([
    say("user", "The nightly import fails since Tuesday. Can you find out why?"),
    call("I will look at the log of the last run first.", "i1", "read_file", { path: "logs/import.log", tail: 40 }),
    result(
      "i1",
      '02:00:04 reading orders.csv\n02:00:05 line 4211: unexpected column "customer_ref"\n02:00:05 import aborted, 0 of 18,304 rows stored',
    ),
    say(
      "assistant",
      "The export gained a column, `customer_ref`, on Tuesday, and the importer refuses columns that it does not know. There are two ways out:\n\n1. **Map it** to `orders.reference`.\n2. **Ignore** unknown columns, with a warning.",
    ),
    say("user", "Wait for me, I have to ask sales which one they need."),
  ]);
  const mapped = dialogue([
    say("user", "Map it. Customers need it on their invoices."),
    call("The mapping is in `columns.ts`.", "i2", "edit_file", {
      path: "src/columns.ts",
      add: "customer_ref: 'reference'",
    }),
    result("i2", "1 line added"),
    call("Now the tests:", "i3", "bash", { command: "npm test -- import" }),
    result(
      "i3",
      "FAIL test/import.test.ts > maps customer_ref\nAssertionError: expected orders.reference to be 'C-1009', received undefined\n    at test/import.test.ts:41:18",
      true,
    ),
    call("The loader dropped the column. It keeps it now:", "i4", "bash", { command: "npm test -- import" }),
    result("i4", "14 passed"),
    say(
      "assistant",
      "`customer_ref` goes to `orders.reference` now. The import of last night's file stored 18,304 rows.",
    ),
  ]);
  const ignored = dialogue([
    say("user", "As a second way: ignore unknown columns, but tell us."),
    call("", "i5", "edit_file", { path: "src/importer.ts", replace: "throw", by: "log.warn" }),
    result("i5", "1 line changed"),
    say("assistant", "Unknown columns are left out now, and each is named once in the log."),
  ]);
  const parent = { sessionId: "import", count: 4 };
  return [
    {
      session: session("import", "Nightly import fails", beganMs, beganMs + HOUR, { team: "ops", agent: "fixer" }),
      messages: timed("import", shared, beganMs + HOUR),
    },
    {
      session: session("import-map", "Nightly import: map the column", nowMs - 2 * HOUR, nowMs - HOUR, { team: "ops" }),
      messages: timed("map", mapped, nowMs - HOUR),
      parent,
    },
    {
      session: session("import-ignore", "Nightly import: ignore the column", nowMs - 100 * MINUTE, nowMs - 90 * MINUTE),
      messages: timed("ignore", ignored, nowMs - 90 * MINUTE),
      parent,
    },
  ];
}

/** A session of an agent at work with about 600 messages, the newest of them from today. */
function billing(nowMs) {
  const messages = dialogue([
    say(
      "user",
      "Can the billing service move from MySQL to Postgres without downtime? Plan it first, then do it step by step.",
    ),
    say("assistant", PLAN),
    ...codingSteps(198),
    say("assistant", "All tables are copied and compared. The switch is one flag now: `BILLING_STORE=postgres`."),
  ]);
  return {
    session: session("billing", "Move the billing service to Postgres", nowMs - 6 * DAY, nowMs - 20 * MINUTE, {
      team: "billing",
      agent: "fixer",
    }),
    messages: inSteps("billing", messages, nowMs - 20 * MINUTE),
  };
}

const PLAN = `Yes, in four steps. Each can be taken back.

| step | what happens | taken back by |
|---|---|---|
| 1 | write to both stores | a flag |
| 2 | copy old rows, in batches of 5,000 | dropping the copy |
| 3 | compare both, row by row | nothing to do |
| 4 | read from Postgres | the same flag |

\`\`\`ts
export const store = flag("BILLING_STORE") === "postgres" ? postgres : mysql;
\`\`\`

I begin with the first.`;

function releaseNotes(nowMs) {
  const messages = dialogue([
    say("user", "Write release notes for 2.4 from the changelog, for people who do not program."),
    call("", "r1", "read_file", { path: "CHANGELOG.md" }),
    result("r1", Array.from({ length: 60 }, (_, i) => `- Change number ${i + 1}`).join("\n")),
    say(
      "assistant",
      "# What is new in 2.4\n\n- **Invoices show your own order numbers.**\n- Exports take half the time.\n- The search finds words with accents.",
    ),
  ]);
  return {
    session: session("release-notes", "Release notes for 2.4", nowMs - 5 * HOUR, nowMs - 4 * HOUR, { team: "docs" }),
    messages: timed("notes", messages, nowMs - 4 * HOUR),
  };
}

/** Sessions with questions of the last three weeks. None has changed since yesterday. */
function older(nowMs) {
  const titles = [
    ...[
      "Kyoto in May",
      "Review the slow report query",
      "Why is the cache cold after a deploy",
      "Translate the terms into German",
    ],
    ...[
      "Regex for invoice numbers",
      "Summarise the incident of the 3rd",
      "Unit tests for the tax rules",
      "Rename the flags",
    ],
  ];
  return Array.from({ length: 48 }, (_, i) => {
    const title = `${titles[i % titles.length]}${i < titles.length ? "" : ` (${Math.floor(i / titles.length) + 1})`}`;
    const updateMs = nowMs - 3 * DAY - i * 9 * HOUR;
    const messages = dialogue([
      say("user", `${title}: can you help me with that?`),
      say("assistant", "Yes. Tell me what you have tried so far, and what you expect to come out."),
    ]);
    return {
      session: session(`older-${i}`, title, updateMs - HOUR, updateMs, i % 3 === 0 ? { team: "ops" } : {}),
      messages: timed(`older-${i}`, messages, updateMs),
    };
  });
}
