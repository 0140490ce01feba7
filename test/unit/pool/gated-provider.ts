import type { TurnAppend } from "../../../src/storage/storage-provider.js";
import { naiveState } from "../../contract/model/naive-sessions-provider.js";
import { NaiveStorageProvider } from "../../contract/model/naive-storage-provider.js";

/** A provider that stores turns only while its gate is open. It records the message ids of each turn. */
export class GatedProvider extends NaiveStorageProvider {
  readonly turns: (readonly string[])[] = [];
  #gate: Promise<void> = Promise.resolve();
  #open: () => void = () => {};

  constructor() {
    super(naiveState());
  }

  shut(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }

  override async logTurn(sessionId: string, appends: readonly TurnAppend[]) {
    this.turns.push(appends.flatMap(({ messages }) => messages.map(({ id = "" }) => id)));
    await this.#gate;
    return await super.logTurn(sessionId, appends);
  }
}
