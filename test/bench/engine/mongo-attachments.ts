import { type Binary, type Collection, MongoClient } from "mongodb";
import { downloads, type PieceStore, uploads } from "./attachments.js";
import type { EngineRow } from "./subjects.js";

/** Uploads, against an insert of each piece by the driver with the same write concern. */
export const uploadToMongo: EngineRow = async (options) => {
  const { mongoUrl = "" } = options;
  return uploads(options, mongoUrl, await MongoPieces.connect(mongoUrl));
};

/** Downloads, against a find of each piece. */
export const downloadFromMongo: EngineRow = async (options) => {
  const { mongoUrl = "" } = options;
  return downloads(options, mongoUrl, await MongoPieces.connect(mongoUrl));
};

interface Piece {
  readonly log: string;
  readonly seq: number;
  readonly bytes: Uint8Array | Binary;
}

/** Pieces in a collection of their own with the index that the store has. */
export class MongoPieces implements PieceStore {
  readonly #client: MongoClient;
  readonly #pieces: Collection<Piece>;

  private constructor(client: MongoClient) {
    this.#client = client;
    this.#pieces = client.db().collection("raw_pieces", { writeConcern: { w: "majority", journal: true } });
  }

  static async connect(url: string): Promise<MongoPieces> {
    const pieces = new MongoPieces(await MongoClient.connect(url));
    await pieces.#pieces.createIndex({ log: 1, seq: 1 });
    return pieces;
  }

  async insertPiece(seq: number, bytes: Buffer): Promise<void> {
    await this.#pieces.insertOne({ log: "raw", seq, bytes });
  }

  async readPiece(seq: number): Promise<Buffer> {
    const piece = await this.#pieces.findOne({ log: "raw", seq }, { promoteBuffers: true });
    return piece?.bytes as Buffer;
  }

  async deletePieces(): Promise<void> {
    await this.#pieces.deleteMany({ log: "raw" });
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
