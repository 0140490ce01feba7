import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PIECE_BYTES } from "../../../../src/domain/attachment.js";
import { DomainError } from "../../../../src/domain/errors.js";
import { RootPool } from "../../../../src/pool/root-pool.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import { SESSIONS, type Step } from "../../../contract/model/operations.js";
import { outcomeOf } from "../../../contract/model/run.js";
import { steps } from "../../../contract/model/sequences.js";
import { dyingStore } from "../../../fault/dying-store.js";
import {
  backupOf,
  contents,
  expectSound,
  openMemory,
  openPool,
  openSqlite,
  type Pool,
  restore,
  SMALL,
} from "./backup-pools.js";

interface Upload {
  readonly op: "putFile";
  readonly session: string;
  readonly attachmentId: string;
  readonly size: number;
  readonly name: string;
}
interface Naming {
  readonly op: "nameFile" | "nameInDraft" | "eraseNaming";
  readonly session: string;
  readonly message: string;
  readonly attachmentIds: readonly string[];
}

const session = fc.constantFrom(...SESSIONS);
const ATTACHMENT_IDS = ["p", "q", "ä/ö 🎈"] as const;
const attachmentId = fc.constantFrom(...ATTACHMENT_IDS);
const size = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 9 }) },
  { weight: 1, arbitrary: fc.constantFrom(PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 7) },
);
const name = fc.oneof(fc.constant(""), fc.string({ unit: "grapheme", maxLength: 9 }));
const upload: fc.Arbitrary<Upload> = fc.record({ op: fc.constant("putFile"), session, attachmentId, size, name });
const naming: fc.Arbitrary<Naming> = fc.record({
  op: fc.constantFrom("nameFile", "nameFile", "nameFile", "nameInDraft", "eraseNaming"),
  session,
  message: fc.integer({ min: 0, max: 9 }).map((i) => `n${i}`),
  attachmentIds: fc.uniqueArray(attachmentId, { minLength: 1, maxLength: 3 }),
});
const sequences = fc
  .tuple(steps, fc.array(fc.oneof(upload, naming), { minLength: 15, maxLength: 40, size: "max" }))
  .map(([all, attaching]) =>
    all
      .slice(0, 30)
      .flatMap((step, i): (Step | Upload | Naming)[] => [step, ...attaching.filter((_, at) => at % 30 === i)]),
  );
const seed = Number(process.env.MODEL_SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.MODEL_RUNS ?? 40);

/** As in the backups of random histories, with uploads among the steps, and messages and drafts that name them. */
describe("a backup of random histories with attachments", () => {
  it.each([
    ["memory", "memory", openMemory, openMemory],
    ["SQLite", "memory", openSqlite, openMemory],
    ["memory", "SQLite", openMemory, openSqlite],
  ] as const)(
    "from %s is byte for byte the same after an import into %s, which has the same bytes",
    async (_from, _to, openFrom, openTo) => {
      console.log(`Backups with attachments: ${numRuns} sequences, MODEL_SEED=${seed}`);
      let attached = 0;
      const property = fc.asyncProperty(sequences, async (sequence) => {
        const [from, to] = [await openPool(openFrom), await openPool(openTo)];
        try {
          await fill(from, sequence);
          const first = await backupOf(from);
          attached += first.split('{"attachment"').length - 1;
          await restore(to, first);
          expect(await backupOf(to)).toBe(first);
          expect(await contents(to)).toEqual(await contents(from));
          expect(await bytesIn(to)).toEqual(await bytesIn(from));
          await expectSound(to);
          expect(await backupOf(to)).toBe(first);
        } finally {
          await Promise.all([from.close(), to.close()]);
        }
      });
      await fc.assert(property, { numRuns, seed });
      expect(attached).toBeGreaterThan(0);
    },
    300_000,
  );

  it("that was killed half way through its import is completed by another one, which uploads nothing twice", async () => {
    const property = fc.asyncProperty(sequences, fc.integer({ min: 1, max: 150 }), async (sequence, killedAt) => {
      const [from, to] = [await openPool(openMemory), await openPool(openMemory)];
      await fill(from, sequence);
      const first = await backupOf(from);
      const { store } = dyingStore(to.database.namespace("default"), killedAt);
      const killed = new RootPool({ storage: new LogHistoryProvider(store, SMALL) });
      await restore(killed, first).catch(({ message }) => expect(message).toMatch(/^The process/));
      await restore(to, first);
      expect(await bytesIn(to)).toEqual(await bytesIn(from));
      expect(await backupOf(to)).toBe(first);
      // The killed process may have left a count of forks too high, which a repair lowers.
      expect(await to.sweep({ repair: true })).toMatchObject({ orphans: 0 });
    });
    await fc.assert(property, { numRuns, seed });
  }, 300_000);
});

async function fill(pool: Pool, sequence: readonly (Step | Upload | Naming)[]): Promise<void> {
  const provider = pool.storage?.active as LogHistoryProvider;
  for (const step of sequence) {
    if (isAttaching(step)) {
      await attach(pool, step).catch((error: unknown) => {
        if (!(error instanceof DomainError)) throw error;
      });
    } else if (step.op === "sweep") await pool.sweep();
    else {
      const { by: _by, ...operation } = step;
      await outcomeOf(provider, operation, { lists: new Map() });
    }
  }
  // Messages of forks name what was uploaded to the sources of these.
  for (const source of SESSIONS) {
    for (const id of ATTACHMENT_IDS) {
      const session = `${source}-${id}`;
      const fork = pool.sessions.forkSession(source, { newSessionId: session });
      const name = () => attach(pool, { op: "nameFile", session, message: "own", attachmentIds: [id] });
      await fork.then(name).catch((error: unknown) => {
        if (!(error instanceof DomainError)) throw error;
      });
    }
  }
}

function isAttaching(step: Step | Upload | Naming): step is Upload | Naming {
  return ["putFile", "nameFile", "nameInDraft", "eraseNaming"].includes(step.op);
}

async function attach({ sessions }: Pool, step: Upload | Naming): Promise<void> {
  if (step.op === "putFile") {
    const bytes = Buffer.alloc(step.size, `${step.attachmentId}${step.name}`);
    const { session: sessionId, attachmentId, name } = step;
    await sessions.attachments.upload(sessionId, { attachmentId, name, mediaType: "image/png" }, [bytes]);
    return;
  }
  if (step.op === "eraseNaming") {
    await sessions.eraseMessage(step.session, step.message);
    return;
  }
  const parts = step.attachmentIds.map((one) => ({
    id: "",
    type: "file",
    text: "",
    attachment: { attachmentId: one, mediaType: "", name: "", size: 0, sha256: "" },
  }));
  const message = { id: step.message, role: "user", parts };
  if (step.op === "nameFile") await sessions.appendMessages(step.session, [message]);
  else await sessions.drafts.start(step.session, message);
}

/** A digest of the bytes of every attachment that messages of the sessions name. */
async function bytesIn({ sessions }: RootPool): Promise<readonly string[]> {
  const found: string[] = [];
  const list = await sessions.listSessions({ limit: 100 });
  for (const { sessionId } of list.sessions) {
    for (const { id, parts } of await sessions.getMessages(sessionId)) {
      for (const { attachment } of parts) {
        if (attachment === undefined) continue;
        const { pieces } = await sessions.attachments.get(sessionId, attachment.attachmentId);
        const hash = createHash("sha256");
        for await (const piece of pieces) hash.update(piece);
        const digest = hash.digest("hex");
        expect(digest).toBe(attachment.sha256);
        found.push(`${sessionId} ${id} ${attachment.attachmentId} ${digest}`);
      }
    }
  }
  return found.sort();
}
