import { Client } from "pg";
import { downloads, type PieceStore, uploads } from "./attachments.js";
import type { EngineRow } from "./subjects.js";

/** Uploads, against an insert of each piece by a named statement. */
export const uploadToPostgres: EngineRow = async (options) => {
  const { postgresUrl = "" } = options;
  return uploads(options, postgresUrl, await RawPostgres.connect(postgresUrl));
};

/** Downloads, against a read of each piece by a named statement. */
export const downloadFromPostgres: EngineRow = async (options) => {
  const { postgresUrl = "" } = options;
  return downloads(options, postgresUrl, await RawPostgres.connect(postgresUrl));
};

/** Pieces in a table of their own, inserted and read by named statements. */
export class RawPostgres implements PieceStore {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async connect(url: string): Promise<RawPostgres> {
    const address = new URL(url);
    address.search = "";
    const client = new Client({ connectionString: address.href });
    await client.connect();
    await client.query("CREATE TABLE raw_pieces (log text, seq bigint, bytes bytea, PRIMARY KEY (log, seq))");
    await client.query("ALTER TABLE raw_pieces ALTER bytes SET STORAGE EXTERNAL");
    return new RawPostgres(client);
  }

  async insertPiece(seq: number, bytes: Buffer): Promise<void> {
    await this.#client.query({
      name: "insert",
      text: "INSERT INTO raw_pieces VALUES ('raw', $1, $2)",
      values: [seq, bytes],
    });
  }

  async readPiece(seq: number): Promise<Buffer> {
    const text = "SELECT bytes FROM raw_pieces WHERE log = 'raw' AND seq = $1";
    return (await this.#client.query({ name: "read", text, values: [seq] })).rows[0].bytes;
  }

  async deletePieces(): Promise<void> {
    await this.#client.query("DELETE FROM raw_pieces");
  }

  async close(): Promise<void> {
    await this.#client.query("DROP TABLE raw_pieces");
    await this.#client.end();
  }
}
