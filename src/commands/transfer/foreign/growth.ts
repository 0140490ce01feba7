import type {
  BackupMessage,
  NumberRange,
  SessionImage,
  SessionSnapshot,
  StoredRange,
} from "../../../domain/session-image.js";
import type { StorageManager } from "../../../storage/storage-manager.js";
import { type BackupFile, readNumbers } from "../backup-file.js";
import type { LineSource } from "../lines.js";
import { type HistoryNode, HistoryTree, lastCommon } from "./history-tree.js";
import { TakenIds, withSuffix } from "./mend-id.js";
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
  readonly end: End;
}

type End = HistoryNode<Stored>;

/** A branch of the file, and where its history ends. */
interface Path {
  readonly session: number;
  readonly image: Image;
  readonly end: End;
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
    const tree = new HistoryTree<Stored>();
    const paths = await pathsOf(source, file, conversation, tree);
    const plan = new ConversationPlan(tree, await putStored(storage, snapshot, paths, tree, idBytes), idBytes);
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
  readonly #tree: HistoryTree<Stored>;
  readonly #main: Stored;
  readonly #idBytes: number;
  readonly #names = new Map<number, string>();
  readonly #taken: TakenIds;

  constructor(tree: HistoryTree<Stored>, stored: readonly [Stored, ...Stored[]], idBytes: number) {
    this.#tree = tree;
    this.#main = stored[0];
    this.#taken = new TakenIds(stored.map(({ name }) => name));
    this.#idBytes = idBytes;
  }

  place(path: Path, source: number | undefined): { readonly change: Partial<Image>; readonly more: NumberRange[] } {
    const { image, session } = path;
    const known = this.#tree.take(path.end);
    if (known !== undefined) {
      this.#names.set(session, known.name);
      const isUnchanged = known.snapshot.revision === image.revision;
      const more = isUnchanged ? afterFirst(image.messages, known.end.count) : [];
      return { change: { sessionId: known.name }, more };
    }
    const change = source === undefined ? this.#besideMain(path) : this.#branch(path, source);
    const name = change.sessionId ?? image.sessionId;
    this.#names.set(session, name);
    this.#taken.add(name);
    return { change, more: [] };
  }

  /** The first branch of the file when its id belongs to a session with other messages: a fork of that one. */
  #besideMain({ end }: Path): Partial<Image> {
    const { name, end: mainEnd } = this.#main;
    const { id: forkPointId, count } = lastCommon(mainEnd, end);
    // Nothing in common: the session is not this conversation, and stays as it is.
    if (count === 0) return {};
    let next = end;
    while (next.before && next.before.count > count) next = next.before;
    return {
      sessionId: this.#free(withSuffix(name, `~${next.id}`, this.#idBytes)),
      parentId: name,
      forkPointId,
      inheritedCount: count,
      origin: { kind: "fork", sourceSessionId: name, upToMessageId: forkPointId, sourceLives: true },
    };
  }

  /** A new branch, of whatever session its source is stored in. */
  #branch({ image }: Path, source: number): Partial<Image> {
    const parentId = this.#names.get(source) ?? image.parentId;
    const sessionId = this.#free(image.sessionId);
    return { sessionId, parentId, origin: image.origin && { ...image.origin, sourceSessionId: parentId } };
  }

  #free(wanted: string): string {
    return this.#taken.free(wanted, this.#idBytes);
  }
}

async function pathsOf(
  source: LineSource,
  file: ForeignBackup,
  sessions: readonly number[],
  tree: HistoryTree<Stored>,
): Promise<Path[]> {
  const ids = new MessageIds();
  const read = (range: NumberRange) => readNumbers(source, file.index, range);
  const paths: Path[] = [];
  for (const session of sessions) {
    const image = await file.session(session);
    const ranges = image.messages.map((range) => ({ log: "", ...range }));
    paths.push({ session, image, end: tree.end(await ids.of(ranges, read)) });
  }
  return paths;
}

/** Puts the sessions into the tree that earlier imports may have made: one, and one for each way on there has been. */
async function putStored(
  storage: StorageManager,
  main: SessionSnapshot,
  paths: readonly Path[],
  tree: HistoryTree<Stored>,
  idBytes: number,
): Promise<[Stored, ...Stored[]]> {
  const ids = new MessageIds();
  const starts = new Set(waysOn(tree.root));
  const put = async (snapshot: SessionSnapshot): Promise<Stored> => {
    const end = tree.end(await ids.of(snapshot.messages, (range) => readStored(storage, snapshot, range)));
    const stored = { name: snapshot.sessionId, snapshot, end };
    tree.put(end, stored);
    return stored;
  };
  const stored: [Stored, ...Stored[]] = [await put(main)];
  for (let node: End | undefined = stored[0].end; node; node = node.before) {
    // The stored history is in the tree now, so a way on that leaves it stands beside it, or comes after it.
    if (node.next.size > 1 || node === stored[0].end) for (const id of node.next.keys()) starts.add(id);
  }
  const names = new Set([...starts].map((start) => withSuffix(main.sessionId, `~${start}`, idBytes)));
  for (const { image } of paths.slice(1)) names.add(image.sessionId);
  for (const name of names) {
    const snapshot = await storage.snapshotSession(name);
    if (snapshot) stored.push(await put(snapshot));
  }
  return stored;
}

/** The messages that follow a place after which there is more than one way on. */
function waysOn(root: End): string[] {
  const starts: string[] = [];
  const nodes = [root];
  for (let node = nodes.pop(); node; node = nodes.pop()) {
    nodes.push(...node.next.values());
    if (node.next.size > 1) starts.push(...node.next.keys());
  }
  return starts;
}

type ReadRange = (range: StoredRange) => AsyncIterable<readonly BackupMessage[]>;

/** The ids of messages, each read once, because the branches of a conversation share most of them. */
class MessageIds {
  readonly #logs = new Map<string, Map<number, string>>();

  async of(ranges: readonly StoredRange[], read: ReadRange): Promise<string[]> {
    const ids: string[] = [];
    for (const range of ranges) {
      const known = this.#logs.get(range.log) ?? new Map<number, string>();
      this.#logs.set(range.log, known);
      for (let number = range.first; number <= range.last; number++) {
        if (!known.has(number)) await learn(known, { ...range, first: number }, read);
        ids.push(known.get(number) as string);
      }
    }
    return ids;
  }
}

async function learn(known: Map<number, string>, range: StoredRange, read: ReadRange): Promise<void> {
  let number = range.first;
  for await (const messages of read(range)) {
    for (const { id } of messages) {
      known.set(number, id);
      number += 1;
    }
  }
}

async function* readStored(storage: StorageManager, snapshot: SessionSnapshot, { log, first, last }: StoredRange) {
  for (let next = first; next <= last; ) {
    const messages = await storage.readStored(snapshot, { log, first: next, last });
    yield messages;
    next += messages.length;
  }
}
