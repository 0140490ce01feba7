import type { Part } from "./chat-message.js";
import type { DraftDelta } from "./draft.js";
import { embeddedSize, partSizeWithoutText, textFieldSize } from "./message-size.js";

/** The sizes of a part, kept so that adding to a long text does not measure the whole text again. */
interface Sizes {
  readonly withoutText: number;
  readonly text: number;
}

/**
 * The parts of a draft, which grow with every delta. The cost of a delta does not depend on how much text there is
 * already.
 */
export class DraftContent {
  readonly #parts: Part[] = [];
  readonly #sizes: Sizes[] = [];
  /** Maps the id of a part to the place of the last part with this id. */
  readonly #places = new Map<string, number>();
  #bytes = 0;
  #deltas = 0;
  #attachments = 0;

  constructor(parts: readonly Part[]) {
    for (const part of parts) this.#setAt(this.#parts.length, part, sizesOf(part));
  }

  /** The current parts. Later deltas do not change what was returned. */
  get parts(): readonly Part[] {
    return this.#parts.slice();
  }

  /** The bytes that the parts take in a message as protobuf. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of deltas applied so far; a renewal, which has none, counts as one. */
  get deltas(): number {
    return this.#deltas;
  }

  apply(deltas: readonly DraftDelta[]): void {
    for (const delta of deltas) {
      const id = idOf(delta);
      const place = this.#places.get(id) ?? this.#parts.length;
      const sizes = sizesAfter(this.#sizes[place], delta);
      this.#setAt(place, partAfter(this.#parts[place], delta), sizes);
    }
    this.#deltas += Math.max(1, deltas.length);
  }

  /** The number of parts. */
  get count(): number {
    return this.#parts.length;
  }

  /** What `count` would be after these deltas. */
  countWith(deltas: readonly DraftDelta[]): number {
    const added = new Set(deltas.map(idOf).filter((id) => !this.#places.has(id)));
    return this.#parts.length + added.size;
  }

  /** The number of parts that name attachments. */
  get attachments(): number {
    return this.#attachments;
  }

  /** What `attachments` would be after these deltas. */
  attachmentsWith(deltas: readonly DraftDelta[]): number {
    const changed = new Map<string, number>();
    for (const delta of deltas) if (delta.kind === "put_part") changed.set(delta.part.id, namedBy(delta.part));
    let attachments = this.#attachments;
    for (const [id, after] of changed) attachments += after - namedBy(this.#parts[this.#places.get(id) ?? -1]);
    return attachments;
  }

  /** What `bytes` would be after these deltas. */
  bytesWith(deltas: readonly DraftDelta[]): number {
    const changed = new Map<string, Sizes>();
    let bytes = this.#bytes;
    for (const delta of deltas) {
      const id = idOf(delta);
      const before = changed.get(id) ?? this.#sizes[this.#places.get(id) ?? -1];
      const after = sizesAfter(before, delta);
      bytes += bytesOf(after) - (before ? bytesOf(before) : 0);
      changed.set(id, after);
    }
    return bytes;
  }

  #setAt(place: number, part: Part, sizes: Sizes): void {
    const before = this.#sizes[place];
    this.#bytes += bytesOf(sizes) - (before ? bytesOf(before) : 0);
    this.#attachments += namedBy(part) - namedBy(this.#parts[place]);
    this.#parts[place] = part;
    this.#sizes[place] = sizes;
    this.#places.set(part.id, place);
  }
}

function idOf(delta: DraftDelta): string {
  return delta.kind === "put_part" ? delta.part.id : delta.partId;
}

/** How many attachments a part names: one or none. */
function namedBy(part: Part | undefined): number {
  return part?.attachment === undefined ? 0 : 1;
}

function partAfter(before: Part | undefined, delta: DraftDelta): Part {
  if (delta.kind === "put_part") return delta.part;
  if (before === undefined) return newTextPart(delta.partId, delta.text);
  return { ...before, text: before.text + delta.text };
}

function sizesAfter(before: Sizes | undefined, delta: DraftDelta): Sizes {
  if (delta.kind === "put_part") return sizesOf(delta.part);
  const added = Buffer.byteLength(delta.text);
  if (before === undefined) return { withoutText: partSizeWithoutText(newTextPart(delta.partId, "")), text: added };
  return { withoutText: before.withoutText, text: before.text + added };
}

function newTextPart(id: string, text: string): Part {
  return { id, type: "text", text };
}

function sizesOf(part: Part): Sizes {
  return { withoutText: partSizeWithoutText(part), text: Buffer.byteLength(part.text) };
}

function bytesOf({ withoutText, text }: Sizes): number {
  return embeddedSize(withoutText + textFieldSize(text));
}
