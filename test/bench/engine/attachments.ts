import pg from "pg";
import { PIECE_BYTES } from "../../../src/domain/attachment.js";
import { alternate, type Subject, timed } from "../slices.js";
import { RawSqlite } from "./raw-sqlite.js";
import { type Engine, type EngineOptions, type EngineRow, fill, openEngine } from "./subjects.js";

const PIECES = 256;
const MIB = (PIECES * PIECE_BYTES) / 2 ** 20;
const PIECE = Buffer.alloc(PIECE_BYTES, "An attachment of 64 MiB. ");

/** One transfer of 64 MiB. What comes after it is not timed. */
interface Transfer {
  readonly run: () => Promise<unknown> | unknown;
  readonly after?: () => Promise<unknown> | unknown;
}

/** Transfers of the same pieces, by the engine or by hand. */
interface Transfers {
  readonly upload: () => Promise<unknown> | unknown;
  readonly download: () => Promise<unknown> | unknown;
  readonly remove: () => Promise<unknown> | unknown;
}

/** A store, and transfers to it by hand. */
interface Opened {
  readonly engine: Engine;
  readonly raw: Transfers;
  readonly close: () => Promise<unknown> | unknown;
}

/** Uploads, against an insert and a commit for each piece by hand. */
export const uploadToSqlite: EngineRow = (options) => compareUploads(options, sqliteIn(options, "upload"));

/** Downloads, against the prepared read of each piece. */
export const downloadFromSqlite: EngineRow = (options) => compareDownloads(options, sqliteIn(options, "download"));

/** Uploads, against a prepared insert for each piece. */
export const uploadToPostgres: EngineRow = async (options) => compareUploads(options, await postgresAt(options));

/** Downloads, against the prepared read of each piece. */
export const downloadFromPostgres: EngineRow = async (options) => compareDownloads(options, await postgresAt(options));

function compareUploads(options: EngineOptions, opened: Opened | Promise<Opened>) {
  return compareTransfers(options, opened, (raw, ours) => [
    { run: raw.upload, after: raw.remove },
    { run: ours.upload, after: ours.remove },
  ]);
}

function compareDownloads(options: EngineOptions, opened: Opened | Promise<Opened>) {
  return compareTransfers(options, opened, async (raw, ours) => {
    for (const { upload } of [raw, ours]) await upload();
    return [{ run: raw.download }, { run: ours.download }];
  });
}

async function compareTransfers(
  { slices, onProgress }: EngineOptions,
  opened: Opened | Promise<Opened>,
  prepare: (raw: Transfers, ours: Transfers) => Promise<readonly Transfer[]> | readonly Transfer[],
) {
  const { engine, raw, close } = await opened;
  await fill(engine, "s", 0);
  const { attachments } = engine.pool.sessions;
  const ours: Transfers = {
    upload: () => attachments.upload("s", { attachmentId: "a" }, chunks()),
    download: async () => {
      let bytes = 0;
      for await (const piece of (await attachments.get("s", "a")).pieces) bytes += piece.length;
      checkBytes(bytes);
    },
    remove: () => attachments.delete("s", "a"),
  };
  try {
    const [baseline, subject] = (await prepare(raw, ours)).map(subjectOf) as [Subject, Subject];
    return await alternate(baseline, subject, { slices, by: "clock", warmUpFactor: 0.1, onSlice: onProgress });
  } finally {
    await close();
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

async function sqliteIn({ folder }: EngineOptions, name: string): Promise<Opened> {
  const raw = new RawSqlite(`${folder}/raw-${name}.db`);
  return {
    engine: await openEngine(`sqlite:${folder}/${name}.db`),
    raw: {
      upload: () => {
        for (let seq = 1; seq <= PIECES; seq++) raw.insertPiece(seq, PIECE);
      },
      download: () => {
        let bytes = 0;
        for (let seq = 1; seq <= PIECES; seq++) bytes += raw.readPiece(seq).length;
        checkBytes(bytes);
      },
      remove: () => raw.deletePieces(),
    },
    close: () => raw.close(),
  };
}

async function postgresAt({ postgresUrl }: EngineOptions): Promise<Opened> {
  if (postgresUrl === undefined) throw new Error("There is no PostgreSQL server");
  const engine = await openEngine(postgresUrl);
  const client = new pg.Client(postgresUrl);
  await client.connect();
  const table = "session_pool.attachment_pieces";
  const ask = (name: string, text: string, ...values: unknown[]) => client.query({ name, text, values });
  return {
    engine,
    raw: {
      upload: async () => {
        const text = `INSERT INTO ${table} (uid, log, seq, bytes) VALUES ('raw', '.1', $1, $2)`;
        for (let seq = 1; seq <= PIECES; seq++) await ask("insert", text, seq, PIECE);
      },
      download: async () => {
        const text = `SELECT bytes FROM ${table} WHERE uid = 'raw' AND log = '.1' AND seq = $1`;
        let bytes = 0;
        for (let seq = 1; seq <= PIECES; seq++) bytes += (await ask("read", text, seq)).rows[0].bytes.length;
        checkBytes(bytes);
      },
      remove: () => client.query(`DELETE FROM ${table} WHERE uid = 'raw'`),
    },
    close: () => client.end(),
  };
}

function checkBytes(bytes: number): void {
  if (bytes !== PIECES * PIECE_BYTES) throw new Error(`${bytes} bytes were read`);
}
