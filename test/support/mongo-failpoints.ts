import { type Document, MongoClient } from "mongodb";

/** Makes the server fail commands of its clients. */
export class MongoFailpoints {
  readonly #client: MongoClient;

  constructor(uri: string) {
    this.#client = new MongoClient(uri);
  }

  /** Makes the next `times` commands with one of these names fail. */
  async fail(failCommands: readonly string[], fault: Document, times: number): Promise<void> {
    await this.#configure({ times }, { failCommands: [...failCommands], ...fault });
  }

  async off(): Promise<void> {
    await this.#configure("off", { failCommands: [] });
  }

  async close(): Promise<void> {
    await this.off();
    await this.#client.close();
  }

  async #configure(mode: unknown, data: Document): Promise<void> {
    await this.#client.db("admin").command({ configureFailPoint: "failCommand", mode, data });
  }
}
