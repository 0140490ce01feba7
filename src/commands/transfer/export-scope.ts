import type { Pools } from "../../pools.js";
import type { StorageManager } from "../../storage/storage-manager.js";
import type { CommandAudit } from "../audited.js";

/** What a caller asked to export. */
export interface ExportRequest {
  readonly storage: string;
  readonly namespace: string;
  /** Whether the caller named the namespace, so that nobody can mean another one. */
  readonly isNamespaceGiven?: boolean | undefined;
  readonly allNamespaces?: boolean | undefined;
  /** The ids of the only sessions to export. */
  readonly sessions?: readonly string[] | undefined;
  /** Only sessions of this owner; if empty, those without one. */
  readonly owner?: string | undefined;
  /** False leaves out the bytes of attachments. */
  readonly attachments?: boolean | undefined;
  /** Hears how many sessions were exported. */
  readonly audit?: Pick<CommandAudit, "summary"> | undefined;
}

/** What is written of one namespace. */
export interface BackupOptions {
  /** Written to the header, so that an import of several namespaces can tell them apart. */
  readonly namespace?: string | undefined;
  /** The ids of the sessions to write, without the todos. */
  readonly sessions?: readonly string[] | undefined;
  /** The sessions to write, without the todos, when the caller has listed them. */
  readonly keys?: readonly { readonly sessionId: string; readonly createTimeMicros: number }[] | undefined;
  /** The owner of the sessions to write, without the todos; empty for those without an owner. */
  readonly owner?: string | undefined;
  /** False leaves out the bytes of attachments. */
  readonly attachments?: boolean | undefined;
}

/** The parts of an export: one for each namespace. */
export interface ExportScope {
  readonly sections: readonly { readonly namespace: string; readonly options: BackupOptions }[];
  /** What the caller should know of namespaces that are left out. */
  readonly note?: string | undefined;
}

/** How many namespaces a message names. */
const MAX_NAMED = 20;

/**
 * Decides which namespaces are exported. Throws an Error that names those which hold sessions when the chosen one holds
 * nothing, because a backup of nothing must not look like a success. For the same reason it throws when no session has
 * the owner.
 */
export async function exportScope(pools: Pools, request: ExportRequest): Promise<ExportScope> {
  const { namespace, isNamespaceGiven = false, allNamespaces = false, sessions, owner, attachments } = request;
  const names = (await pools.listNamespaces()).toSorted();
  if (allNamespaces) return { sections: await sectionsOf(pools, names, request) };
  const section = { namespace, options: { sessions, owner, attachments } };
  if (sessions !== undefined) {
    for (const sessionId of sessions) await checkExists(pools, namespace, sessionId);
    return { sections: [section] };
  }
  const others = await withSessions(
    pools,
    names.filter((name) => name !== namespace),
    owner,
  );
  const isWorthwhile =
    (await holdsSessions(pools, namespace, owner)) ||
    (isNamespaceGiven && owner === undefined && (await holdsTodos(pools, namespace)));
  if (!isWorthwhile && others.length > 0) {
    throw new Error(
      `The namespace ${JSON.stringify(namespace)} holds no ${sessionsOf(owner)}; there are some in ${listed(others)}. Name one with --namespace, or export all with --all-namespaces`,
    );
  }
  if (!isWorthwhile && owner !== undefined) {
    throw new Error(`The namespace ${JSON.stringify(namespace)} holds no ${sessionsOf(owner)}`);
  }
  if (isNamespaceGiven || others.length === 0) return { sections: [section] };
  const note = `Only the namespace ${JSON.stringify(namespace)} was exported; there are ${sessionsOf(owner)} in ${listed(others)}, too, which --all-namespaces exports as well`;
  return { sections: [section], note };
}

/**
 * Every namespace that holds anything to export. There is at least one section, because an empty file is no backup.
 * Throws an Error when no session has the owner.
 */
async function sectionsOf(
  pools: Pools,
  names: readonly string[],
  { namespace: otherwise, owner, attachments }: ExportRequest,
): Promise<ExportScope["sections"]> {
  const used: string[] = [];
  for (const name of names) {
    const isUsed =
      (await holdsSessions(pools, name, owner)) || (owner === undefined && (await holdsTodos(pools, name)));
    if (isUsed) used.push(name);
  }
  if (used.length === 0 && owner !== undefined) throw new Error(`The store holds no ${sessionsOf(owner)}`);
  return (used.length > 0 ? used : [otherwise]).map((namespace) => ({
    namespace,
    options: { namespace, owner, attachments },
  }));
}

/** The namespaces that hold sessions, and no more of them than a message needs to tell that it leaves some out. */
async function withSessions(pools: Pools, names: readonly string[], owner: string | undefined): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    if (await holdsSessions(pools, name, owner)) found.push(name);
    if (found.length > MAX_NAMED) break;
  }
  return found;
}

async function checkExists(pools: Pools, namespace: string, sessionId: string): Promise<void> {
  const storage = pools.for(namespace).storage as StorageManager;
  if ((await storage.snapshotSession(sessionId)) !== null) return;
  throw new Error(`The namespace ${JSON.stringify(namespace)} has no session ${JSON.stringify(sessionId)}`);
}

async function holdsSessions(pools: Pools, namespace: string, owner: string | undefined): Promise<boolean> {
  const { sessions } = await pools.for(namespace).sessions.listSessions({ owner, limit: 1 });
  return sessions.length > 0;
}

async function holdsTodos(pools: Pools, namespace: string): Promise<boolean> {
  return (await pools.for(namespace).todos.list()).length > 0;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).map((name) => JSON.stringify(name));
  return `${shown.join(", ")}${names.length > MAX_NAMED ? " and others" : ""}`;
}

function sessionsOf(owner: string | undefined): string {
  if (owner === undefined) return "sessions";
  return owner === "" ? "sessions without an owner" : `sessions of the owner ${JSON.stringify(owner)}`;
}
