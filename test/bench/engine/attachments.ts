import { PIECE_BYTES } from "../../../src/domain/attachment.js";
import { alternate, type Subject, timed } from "../slices.js";
import { RawSqlite } from "./raw-sqlite.js";
import { type EngineOptions, type EngineRow, fill, openEngine } from "./subjects.js";

const PIECES = 256;
const MIB = (PIECES * PIECE_BYTES) / 2 ** 20;
const PIECE = Buffer.alloc(PIECE_BYTES, "An attachment of 64 MiB. ");

/** One transfer of 64 MiB. What comes after it is not timed. */
interface Transfer {
  readonly run: () => Promise<unknown> | unknown;
  readonly after?: () => Promise<unknown> | unknown;
}

/** Uploads, against an insert and a commit for each piece by hand. */
export const uploadToSqlite: EngineRow = (options) =>
  compareTransfers(options, "upload", (raw, { upload, remove }) => [
    { run: () => insertAll(raw), after: () => raw.deletePieces() },
    { run: upload, after: remove },
  ]);

/** Downloads, against the prepared read of each piece. */
export const downloadFromSqlite: EngineRow = (options) =>
  compareTransfers(options, "download", async (raw, { upload, download }) => {
    insertAll(raw);
    await upload();
    return [{ run: () => readAll(raw) }, { run: download }];
  });

interface Calls {
  readonly upload: () => Promise<unknown>;
  readonly download: () => Promise<unknown>;
  readonly remove: () => Promise<unknown>;
}

async function compareTransfers(
  { folder, slices, onProgress }: EngineOptions,
  name: string,
  prepare: (raw: RawSqlite, calls: Calls) => Promise<readonly Transfer[]> | readonly Transfer[],
) {
  const raw = new RawSqlite(`${folder}/raw-${name}.db`);
  const engine = await openEngine(`sqlite:${folder}/${name}.db`);
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
    const [baseline, ours] = (await prepare(raw, calls)).map(subjectOf) as [Subject, Subject];
    return await alternate(baseline, ours, { slices, by: "clock", warmUpFactor: 0.1, onSlice: onProgress });
  } finally {
    raw.close();
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

function insertAll(raw: RawSqlite): void {
  for (let seq = 1; seq <= PIECES; seq++) raw.insertPiece(seq, PIECE);
}

function readAll(raw: RawSqlite): void {
  let bytes = 0;
  for (let seq = 1; seq <= PIECES; seq++) bytes += raw.readPiece(seq).length;
  checkBytes(bytes);
}

function checkBytes(bytes: number): void {
  if (bytes !== PIECES * PIECE_BYTES) throw new Error(`${bytes} bytes were read`);
}
