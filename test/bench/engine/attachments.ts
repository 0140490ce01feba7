import { PIECE_BYTES } from "../../../src/domain/attachment.js";
import { alternate, type Subject, timed } from "../slices.js";
import { RawSqlite } from "./raw-sqlite.js";
import { type EngineOptions, type EngineRow, fill, openEngine } from "./subjects.js";

const PIECES = 256;
const MIB = (PIECES * PIECE_BYTES) / 2 ** 20;
const PIECE = Buffer.alloc(PIECE_BYTES, "An attachment of 64 MiB. ");

/** One transfer of 64 MiB. What comes after it is not timed. */
interface Transfer {
  readonly run: () => Promise<unknown>;
  readonly after?: () => Promise<unknown> | unknown;
}

/** Pieces that are stored and read by the bare driver, each in a step of its own. */
export interface PieceStore {
  insertPiece(seq: number, bytes: Buffer): Promise<void> | void;
  readPiece(seq: number): Promise<Buffer> | Buffer;
  deletePieces(): Promise<void> | void;
  close(): Promise<void> | void;
}

/** Uploads, against an insert and a commit for each piece by hand. */
export const uploadToSqlite: EngineRow = (options) => {
  const { folder } = options;
  return uploads(options, `sqlite:${folder}/upload.db`, new RawSqlite(`${folder}/raw-upload.db`));
};

/** Downloads, against the prepared read of each piece. */
export const downloadFromSqlite: EngineRow = (options) => {
  const { folder } = options;
  return downloads(options, `sqlite:${folder}/download.db`, new RawSqlite(`${folder}/raw-download.db`));
};

/** Compares uploads to a store with inserts of the same pieces. */
export function uploads(options: EngineOptions, url: string, raw: PieceStore) {
  return compareTransfers(options, url, raw, ({ upload, remove }) => [
    { run: () => insertAll(raw), after: () => raw.deletePieces() },
    { run: upload, after: remove },
  ]);
}

/** Compares downloads from a store with reads of the same pieces. */
export function downloads(options: EngineOptions, url: string, raw: PieceStore) {
  return compareTransfers(options, url, raw, async ({ upload, download }) => {
    await insertAll(raw);
    await upload();
    return [{ run: () => readAll(raw) }, { run: download }];
  });
}

interface Calls {
  readonly upload: () => Promise<unknown>;
  readonly download: () => Promise<unknown>;
  readonly remove: () => Promise<unknown>;
}

async function compareTransfers(
  { slices, onProgress }: EngineOptions,
  url: string,
  raw: PieceStore,
  prepare: (calls: Calls) => Promise<readonly Transfer[]> | readonly Transfer[],
) {
  const engine = await openEngine(url);
  await fill(engine, "s", 0);
  const { attachments } = engine.pool.sessions;
  const calls: Calls = {
    upload: () => attachments.upload("s", { attachmentId: "a" }, chunks()),
    download: async () => {
      let bytes = 0;
      for await (const piece of (await attachments.get("s", "a")).pieces) bytes += piece.length;
      checkBytes(bytes);
    },
    remove: () => attachments.delete("s", "a"),
  };
  try {
    const [baseline, ours] = (await prepare(calls)).map(subjectOf) as [Subject, Subject];
    return await alternate(baseline, ours, { slices, by: "clock", warmUpFactor: 0.1, onSlice: onProgress });
  } finally {
    await raw.close();
    await engine.close();
  }
}

/** Makes a subject whose rate is in MiB a second. */
function subjectOf({ run, after }: Transfer): Subject {
  return async () => {
    const slice = await timed(async () => {
      await run();
      return MIB;
    });
    await after?.();
    return slice;
  };
}

async function* chunks() {
  for (let seq = 0; seq < PIECES; seq++) yield PIECE;
}

async function insertAll(raw: PieceStore): Promise<void> {
  for (let seq = 1; seq <= PIECES; seq++) await raw.insertPiece(seq, PIECE);
}

async function readAll(raw: PieceStore): Promise<void> {
  let bytes = 0;
  for (let seq = 1; seq <= PIECES; seq++) bytes += (await raw.readPiece(seq)).length;
  checkBytes(bytes);
}

function checkBytes(bytes: number): void {
  if (bytes !== PIECES * PIECE_BYTES) throw new Error(`${bytes} bytes were read`);
}
