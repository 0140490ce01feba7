import type { Pools } from "../../pools.js";
import type { StorageManager } from "../../storage/storage-manager.js";

/** What a caller asked to export. */
export interface ExportRequest {
  readonly storage: string;
  readonly namespace: string;
  /** Whether the caller named the namespace, so that nobody can mean another one. */
  readonly isNamespaceGiven?: boolean | undefined;
  readonly allNamespaces?: boolean | undefined;
  /** The ids of the only sessions to export. */
  readonly sessions?: readonly string[] | undefined;
}

/** What is written of one namespace. */
export interface BackupOptions {
  /** Written to the header, so that an import of several namespaces can tell them apart. */
  readonly namespace?: string | undefined;
  /** The ids of the sessions to write, without the todos; everything when absent. */
  readonly sessions?: readonly string[] | undefined;
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
 * nothing, because a backup of nothing must not look like a success.
 */
export async function exportScope(pools: Pools, request: ExportRequest): Promise<ExportScope> {
  const { namespace, isNamespaceGiven = false, allNamespaces = false, sessions } = request;
  const names = (await pools.listNamespaces()).toSorted();
  if (allNamespaces) return { sections: await sectionsOf(pools, names, namespace) };
  const section = { namespace, options: { sessions } };
  if (sessions !== undefined) {
    for (const sessionId of sessions) await checkExists(pools, namespace, sessionId);
    return { sections: [section] };
  }
  const others = await withSessions(
    pools,
    names.filter((name) => name !== namespace),
  );
  const isWorthwhile =
    (await holdsSessions(pools, namespace)) || (isNamespaceGiven && (await holdsTodos(pools, namespace)));
  if (!isWorthwhile && others.length > 0) {
    throw new Error(
      `The namespace ${JSON.stringify(namespace)} holds no sessions; there are some in ${listed(others)}. Name one with --namespace, or export all with --all-namespaces`,
    );
  }
  if (isNamespaceGiven || others.length === 0) return { sections: [section] };
  const note = `Only the namespace ${JSON.stringify(namespace)} was exported; there are sessions in ${listed(others)}, too, which --all-namespaces exports as well`;
  return { sections: [section], note };
}

/** Every namespace that holds anything; at least one section, because an empty file is no backup. */
async function sectionsOf(pools: Pools, names: readonly string[], otherwise: string): Promise<ExportScope["sections"]> {
  const used: string[] = [];
  for (const name of names) if ((await holdsSessions(pools, name)) || (await holdsTodos(pools, name))) used.push(name);
  return (used.length > 0 ? used : [otherwise]).map((namespace) => ({ namespace, options: { namespace } }));
}

/** The namespaces that hold sessions, and no more of them than a message needs to tell that it leaves some out. */
async function withSessions(pools: Pools, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    if (await holdsSessions(pools, name)) found.push(name);
    if (found.length > MAX_NAMED) break;
  }
  return found;
}

async function checkExists(pools: Pools, namespace: string, sessionId: string): Promise<void> {
  const storage = pools.for(namespace).storage as StorageManager;
  if ((await storage.snapshotSession(sessionId)) !== null) return;
  throw new Error(`The namespace ${JSON.stringify(namespace)} has no session ${JSON.stringify(sessionId)}`);
}

async function holdsSessions(pools: Pools, namespace: string): Promise<boolean> {
  const storage = pools.for(namespace).storage as StorageManager;
  let after: string | undefined = "";
  while (after !== undefined) {
    const { keys, next }: Awaited<ReturnType<StorageManager["scanSessions"]>> = await storage.scanSessions(after, 1);
    if (keys.length > 0) return true;
    after = next;
  }
  return false;
}

async function holdsTodos(pools: Pools, namespace: string): Promise<boolean> {
  return (await pools.for(namespace).todos.list()).length > 0;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).map((name) => JSON.stringify(name));
  return `${shown.join(", ")}${names.length > MAX_NAMED ? " and others" : ""}`;
}
