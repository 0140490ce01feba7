import type { NewChatMessage } from "../../domain/chat-message.js";
import type { JsonObject } from "../../domain/json.js";
import type { Line, LinePlace, LineSource } from "./lines.js";

/** A session of another program's export. */
export interface ForeignSession {
  readonly sessionId: string;
  readonly parentId: string;
  readonly title: string;
  readonly metadata?: JsonObject | undefined;
  readonly messages: readonly (NewChatMessage & { readonly id: string; readonly timestampMicros: number })[];
}

/** Another program's sessions as the lines of a file of version 1. */
export class ForeignLines implements LineSource {
  readonly #texts: string[] = [""];
  readonly #names: string[] = [""];

  constructor(sessions: Iterable<ForeignSession>) {
    for (const { messages, ...session } of sessions) {
      const name = `Session ${JSON.stringify(session.sessionId)}`;
      this.#add(name, { session });
      for (const message of messages) this.#add(`${name}, message ${JSON.stringify(message.id)}`, { message });
    }
  }

  async *lines(from: LinePlace = { number: 1, offset: 0 }): AsyncGenerator<Line> {
    for (let number = from.number; number <= this.#texts.length; number++) {
      yield { number, offset: 0, text: this.#texts[number - 1] as string };
    }
  }

  nameOf(number: number): string {
    return this.#names[number - 1] as string;
  }

  #add(name: string, item: object): void {
    this.#names.push(name);
    this.#texts.push(JSON.stringify(item));
  }
}
