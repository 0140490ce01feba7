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
  [
    "How many tokens did “Move the billing service to Postgres” use?",
    "The line below its title says it: 4.9M tokens, for $15.84.",
  ],
  ["Which session is the slowest?", "The table by session of “Usage”, by p95: “Review the slow report query”."],
  ["What did the calls of models cost this week, and which model most?", "“Usage”: its tiles, and the table by model."],
  ["Which sessions changed since yesterday noon?", "“Table”, with that time in “Changed since”."],
  ["Which tool fails most?", "“Usage”, tools: bash."],
  ["What did ada ask last week?", "“Messages” with the owner ada, questions and “Last week” lists them."],
  [
    "Which of the two forks of “Nightly import fails” was cheaper?",
    "“Compare” in the panel of forks: the one that ignores the column.",
  ],
];

/** A list of `{session, messages, parent}` in the order of the file, in which parents come first. */
export function sessionsOfDemo(nowMs) {
  return [...older(nowMs), ...imports(nowMs), releaseNotes(nowMs), billing(nowMs)].map(withUsages);
}

/** Models with dollars for a million tokens that are read and written. */
const MODELS = [
  { model: "claude-sonnet-4-5", provider: "anthropic", read: 3, written: 15 },
  { model: "gpt-5-mini", provider: "openai", read: 0.25, written: 2 },
  { model: "gemini-2.5-pro", provider: "google", read: 1.25, written: 10 },
];
const SLOW = "Review the slow report query";

/** Gives the assistant's messages what their calls took. The longer a session, the more tokens are read. */
function withUsages(entry, number) {
  const { title, sessionId } = entry.session;
  const isAgent = sessionId === "billing" || sessionId.startsWith("import");
  const { model, provider, read, written } = MODELS[isAgent ? 0 : number % MODELS.length];
  const inherited = entry.parent?.count ?? 0;
  const messages = entry.messages.map((message, i) => {
    if (message.role !== "assistant") return message;
    const inputTokens = 1200 + Math.min(60, inherited + i) * 190 + ((number * 37 + i * 53) % 400);
    const outputTokens = 60 + ((number * 17 + i * 29) % 300);
    const cost = (inputTokens * read + outputTokens * written) / 1_000_000;
    const durationMicros = (900 + outputTokens * 9 + (title.startsWith(SLOW) ? 41_000 : 0)) * 1000;
    const startTimeMicros = message.timestampMicros - durationMicros;
    const usage = {
      ...{ model, provider, inputTokens, outputTokens, cachedInputTokens: Math.floor(inputTokens * 0.7) },
      ...{ cost: cost.toFixed(6), currency: "USD", startTimeMicros, durationMicros },
      firstTokenTimeMicros: startTimeMicros + 700_000,
    };
    return { ...message, usage };
  });
  return { ...entry, messages };
}

/** Notes on messages of a session, by the ids of the messages. */
function notesOn(sessionId, messages, notes) {
  return notes.map(([index, thumb, text, author], i) => {
    const { id, timestampMicros } = messages[index];
    const at = timestampMicros + 60_000_000;
    return {
      ...{ annotationId: `note-${i}`, messageId: id, thumb, text, author, createTimeMicros: at, updateTimeMicros: at },
      ...{ originSessionId: sessionId, messageTimestampMicros: timestampMicros },
    };
  });
}

function session(sessionId, title, createMs, updateMs, labels = {}, owner = undefined) {
  return {
    ...{ sessionId, title, labels, owner },
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
  const mappedMessages = timed("map", mapped, nowMs - HOUR);
  return [
    {
      session: session("import", "Nightly import fails", beganMs, beganMs + HOUR, { team: "ops", agent: "fixer" }),
      messages: timed("import", shared, beganMs + HOUR),
    },
    {
      session: {
        ...session("import-map", "Nightly import: map the column", nowMs - 2 * HOUR, nowMs - HOUR, { team: "ops" }),
        annotations: notesOn("import-map", mappedMessages, [
          [7, "up", "Found it by the test, and says what it stored.", "grace"],
          [3, "down", "Ran the tests before it looked at the loader.", "ada"],
        ]),
      },
      messages: mappedMessages,
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
      session: session(
        `older-${i}`,
        title,
        updateMs - HOUR,
        updateMs,
        i % 3 === 0 ? { team: "ops" } : {},
        i % 4 === 1 ? "ada" : "grace",
      ),
      messages: timed(`older-${i}`, messages, updateMs),
    };
  });
}
