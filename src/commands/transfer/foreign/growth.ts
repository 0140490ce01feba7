import type { NumberRange, SessionImage, SessionSnapshot } from "../../../domain/session-image.js";
import type { StorageManager } from "../../../storage/storage-manager.js";
import { type BackupFile, readNumbers } from "../backup-file.js";
import type { LineSource } from "../lines.js";
import { freeId, withSuffix } from "./mend-id.js";
import { afterFirst } from "./ranges.js";

type Image = SessionImage<NumberRange>;

/** A file whose conversations can be found again in the store, where they may have been shorter. */
export interface ForeignBackup extends BackupFile {
  /** The sessions of each conversation: the one with its id, and its other branches. */
  readonly conversations: readonly (readonly number[])[];
  /** The longest id that the import makes. */
  readonly idBytes: number;
  /** The branch that another one leaves; undefined for the first of a conversation. */
  sourceOf(session: number): number | undefined;
}

export interface GrownBackup extends BackupFile {
  /** The messages that existing sessions lack, to be appended. */
  readonly missing: ReadonlyMap<number, readonly NumberRange[]>;
}

/** A session of the store that may be a branch of a conversation. */
interface Stored {
  readonly name: string;
  readonly snapshot: SessionSnapshot;
  readonly ids: readonly string[];
  isTaken: boolean;
}

/** A branch of the file, with the ids of its messages. */
interface Path {
  readonly session: number;
  readonly image: Image;
  readonly ids: readonly string[];
}

/**
 * Compares conversations that are in the store already with those of the file, by the ids of their messages. A branch
 * that begins as a stored session goes on there, whichever of them the program shows now; a branch that no session
 * begins becomes a fork. A session that was edited here, or whose id belongs to something else, stays as it is.
 */
export async function planGrowth(
  storage: StorageManager,
  source: LineSource,
  file: ForeignBackup,
): Promise<GrownBackup> {
  const { idBytes } = file;
  const changes = new Map<number, Partial<Image>>();
  const missing = new Map<number, readonly NumberRange[]>();
  for (const conversation of file.conversations) {
    const [main] = conversation as readonly [number, ...number[]];
    const { sessionId } = await file.session(main);
    const snapshot = await storage.snapshotSession(sessionId);
    if (snapshot === null) continue;
    const paths = await pathsOf(source, file, conversation);
    const plan = new ConversationPlan(sessionId, await storedOf(storage, snapshot, paths, idBytes), idBytes);
    for (const path of paths) {
      const { change, more } = plan.place(path, file.sourceOf(path.session));
      changes.set(path.session, change);
      if (more.length > 0) missing.set(path.session, more);
    }
  }
  return {
    index: file.index,
    todos: file.todos,
    session: async (i) => ({ ...(await file.session(i)), ...changes.get(i) }),
    missing,
  };
}

/** Decides where the branches of one conversation go. */
class ConversationPlan {
  readonly #mainId: string;
  readonly #stored: readonly Stored[];
  readonly #idBytes: number;
  readonly #names = new Map<number, string>();

  constructor(mainId: string, stored: readonly Stored[], idBytes: number) {
    this.#mainId = mainId;
    this.#stored = stored;
    this.#idBytes = idBytes;
  }

  place(path: Path, source: number | undefined): { readonly change: Partial<Image>; readonly more: NumberRange[] } {
    const { image, ids, session } = path;
    const known = this.#begunBy(ids);
    if (known !== undefined) {
      known.isTaken = true;
      this.#names.set(session, known.name);
      const isUnchanged = known.snapshot.revision === image.revision;
      const more = isUnchanged ? afterFirst(image.messages, known.ids.length) : [];
      return { change: { sessionId: known.name }, more };
    }
    const change = source === undefined ? this.#besideMain(path) : this.#branch(path, source);
    this.#names.set(session, change.sessionId ?? image.sessionId);
    return { change, more: [] };
  }

  /** The free session with the longest history that begins this one, or that this one begins. */
  #begunBy(ids: readonly string[]): Stored | undefined {
    let best: Stored | undefined;
    for (const stored of this.#stored) {
      const common = commonLength(stored.ids, ids);
      const isBegun = common === stored.ids.length || common === ids.length;
      if (isBegun && !stored.isTaken && common >= (best ? commonLength(best.ids, ids) : 0)) best = stored;
    }
    return best;
  }

  /** The first branch of the file when its id belongs to a session with other messages: a fork of that one. */
  #besideMain({ ids }: Path): Partial<Image> {
    const main = this.#stored.find(({ name }) => name === this.#mainId) as Stored;
    const count = commonLength(main.ids, ids);
    // Nothing in common: the session is not this conversation, and stays as it is.
    if (count === 0) return {};
    const forkPointId = ids[count - 1] as string;
    return {
      sessionId: this.#free(withSuffix(this.#mainId, `~${ids[count]}`, this.#idBytes)),
      parentId: this.#mainId,
      forkPointId,
      inheritedCount: count,
      origin: { kind: "fork", sourceSessionId: this.#mainId, upToMessageId: forkPointId, sourceLives: true },
    };
  }

  /** A new branch, of whatever session its source is stored in. */
  #branch({ image }: Path, source: number): Partial<Image> {
    const parentId = this.#names.get(source) ?? image.parentId;
    const sessionId = this.#free(image.sessionId);
    return { sessionId, parentId, origin: image.origin && { ...image.origin, sourceSessionId: parentId } };
  }

  #free(wanted: string): string {
    const isTaken = (id: string) => this.#isStored(id) || [...this.#names.values()].includes(id);
    return freeId(wanted, isTaken, this.#idBytes);
  }

  #isStored(id: string): boolean {
    return this.#stored.some(({ name }) => name === id);
  }
}

async function pathsOf(source: LineSource, file: ForeignBackup, sessions: readonly number[]): Promise<Path[]> {
  const paths: Path[] = [];
  for (const session of sessions) {
    const image = await file.session(session);
    const ids: string[] = [];
    for (const range of image.messages) {
      for await (const batch of readNumbers(source, file.index, range)) ids.push(...batch.map(({ id }) => id));
    }
    paths.push({ session, image, ids });
  }
  return paths;
}

/** The sessions that earlier imports may have made of a conversation: one, and one for each way on that it has had. */
async function storedOf(
  storage: StorageManager,
  main: SessionSnapshot,
  paths: readonly Path[],
  idBytes: number,
): Promise<Stored[]> {
  const stored: Stored[] = [];
  const add = async (name: string, snapshot: SessionSnapshot | null) => {
    if (snapshot) stored.push({ name, snapshot, ids: await idsOf(storage, snapshot), isTaken: false });
  };
  await add(main.sessionId, main);
  const [{ ids: mainIds } = { ids: [] }] = stored;
  const starts = new Set(waysOn(paths));
  for (const { ids } of paths) {
    const next = ids[commonLength(mainIds, ids)];
    if (next !== undefined) starts.add(next);
  }
  const names = new Set([...starts].map((start) => withSuffix(main.sessionId, `~${start}`, idBytes)));
  for (const { image } of paths.slice(1)) names.add(image.sessionId);
  for (const name of names) await add(name, await storage.snapshotSession(name));
  return stored;
}

/** The messages that follow a message, or the beginning, after which there is more than one way on. */
function waysOn(paths: readonly Path[]): string[] {
  const followers = new Map<string, Set<string>>();
  for (const { ids } of paths) {
    for (const [i, id] of ids.entries()) {
      const before = ids[i - 1] ?? "";
      followers.set(before, (followers.get(before) ?? new Set()).add(id));
    }
  }
  return [...followers.values()].flatMap((ways) => (ways.size > 1 ? [...ways] : []));
}

async function idsOf(storage: StorageManager, snapshot: SessionSnapshot): Promise<string[]> {
  const ids: string[] = [];
  for (const range of snapshot.messages) {
    for (let first = range.first; first <= range.last; ) {
      const messages = await storage.readStored(snapshot, { ...range, first });
      ids.push(...messages.map(({ id }) => id));
      first += messages.length;
    }
  }
  return ids;
}

function commonLength(a: readonly string[], b: readonly string[]): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) if (a[i] !== b[i]) return i;
  return end;
}
