import { createHash } from "node:crypto";
import { PIECE_BYTES } from "../../src/domain/attachment.js";
import type { Random } from "../simulation/random.js";
import { bodyOf, type Fleet } from "./chaos-fleet.js";

const SIZES = [0, 1, 1000, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] as const;
/** More messages than this are deleted before further ones are appended. */
const MOST_MESSAGES = 20;

/**
 * Uploads attachments to a session that nobody else uses, and appends and deletes messages that name them. It repeats
 * each call until it is answered, so it knows after each call what the session must hold.
 */
export class ChaosUploader {
  readonly problems: string[] = [];
  readonly sessionId: string;
  readonly #fleet: Fleet;
  readonly #random: Random;
  readonly #uploads = new Map<string, Uint8Array>();
  #messages: readonly { readonly id: string; readonly names: readonly string[] }[] = [];
  #number = 0;

  constructor(sessionId: string, fleet: Fleet, random: Random) {
    this.sessionId = sessionId;
    this.#fleet = fleet;
    this.#random = random;
  }

  /** The ids of the attachments that stored messages name. */
  get named(): readonly string[] {
    return [...new Set(this.#messages.flatMap(({ names }) => names))].sort();
  }

  async work(isOver: () => boolean): Promise<void> {
    await this.#body("POST", "/session", { sessionId: this.sessionId });
    while (!isOver()) await this.#step();
  }

  /** Compares every attachment with what was uploaded, and the messages with what they must name. */
  async check(): Promise<void> {
    for (const id of this.#uploads.keys()) await this.#read(id);
    const { messages = [] } = (await this.#body("GET", `${this.#path}/message?limit=1000&offset=0`)) as {
      messages?: { info: { id: string }; parts: { attachment: { attachmentId: string; sha256: string } }[] }[];
    };
    const shown = messages.map(({ info, parts }) => [info.id, ...parts.map(({ attachment }) => attachment.sha256)]);
    const wanted = this.#messages.map(({ id, names }) => [id, ...names.map((one) => sha256(this.#bytes(one)))]);
    if (JSON.stringify(shown) === JSON.stringify(wanted)) return;
    this.problems.push(`${this.sessionId} shows ${JSON.stringify(shown)} in place of ${JSON.stringify(wanted)}`);
  }

  get #path(): string {
    return `/session/${this.sessionId}`;
  }

  #step(): Promise<void> {
    const dice = this.#random.int(100);
    if (this.#uploads.size === 0 || dice < 40) return this.#upload();
    if (this.#messages.length > MOST_MESSAGES) return this.#delete();
    if (dice < 75) return this.#append();
    if (dice < 85 && this.#messages.length > 0) return this.#delete();
    return this.#read(this.#random.pick([...this.#uploads.keys()]));
  }

  async #upload(): Promise<void> {
    const id = `${this.sessionId}-a${++this.#number}`;
    const bytes = new Uint8Array(this.#random.pick(SIZES)).fill(this.#random.int(256));
    const answer = await this.#body("POST", `${this.#path}/attachment?attachment_id=${id}`, bytes);
    if (answer.sha256 !== sha256(bytes)) this.problems.push(`${id} was stored as ${JSON.stringify(answer)}`);
    this.#uploads.set(id, bytes);
  }

  async #append(): Promise<void> {
    const id = `${this.sessionId}-m${++this.#number}`;
    const uploads = [...this.#uploads.keys()];
    const names = Array.from({ length: 1 + this.#random.int(2) }, () => this.#random.pick(uploads));
    const parts = names.map((attachmentId) => ({ type: "file", attachment: { attachmentId } }));
    await this.#body("POST", `${this.#path}/message`, { info: { id, role: "user" }, parts });
    this.#messages = [...this.#messages, { id, names }];
  }

  async #delete(): Promise<void> {
    const { id } = this.#random.pick(this.#messages);
    const path = `${this.#path}/message/${id}`;
    const { reply, isRepeat } = await this.#ask("DELETE", path);
    const isDone = isRepeat && reply.kind === "refusal" && reply.status === 404;
    if (!isDone) bodyOf(reply, `DELETE ${path}`);
    this.#messages = this.#messages.filter((one) => one.id !== id);
    // Nothing may show an attachment any more that only this message has named.
    const named = new Set(this.named);
    for (const name of this.#uploads.keys()) if (!named.has(name)) this.#uploads.delete(name);
  }

  async #read(id: string): Promise<void> {
    const { bytes } = await this.#body("GET", `${this.#path}/attachment/${id}`);
    if (bytes instanceof Uint8Array && sha256(bytes) === sha256(this.#bytes(id))) return;
    this.problems.push(`${id} has other bytes than were uploaded`);
  }

  #bytes(id: string): Uint8Array {
    return this.#uploads.get(id) ?? new Uint8Array();
  }

  async #body(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    return bodyOf((await this.#ask(method, path, body)).reply, `${method} ${path}`);
  }

  #ask(method: string, path: string, body?: unknown) {
    return this.#fleet.settle(this.#random.int(this.#fleet.size), method, path, body);
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
