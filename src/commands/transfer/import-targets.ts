import type { BackupSection } from "./read-backup.js";

/** Where a caller wants the sessions of a file. */
export interface ImportRequest {
  readonly storage: string;
  readonly namespace: string;
  /** Whether the caller named the namespace, rather than took the default. */
  readonly isNamespaceGiven?: boolean | undefined;
}

/**
 * The namespace that each section of a file goes to: its own, unless the caller named one. Then only the section of
 * that namespace is taken. A section without a namespace goes to the caller's. Throws an Error when nothing is left.
 */
export function importTargets(
  { namespace, isNamespaceGiven = false }: ImportRequest,
  sections: readonly BackupSection[],
  path: string,
): readonly (BackupSection & { readonly namespace: string })[] {
  const wanted = isNamespaceGiven
    ? sections.filter((section) => (section.namespace ?? namespace) === namespace)
    : sections;
  if (wanted.length === 0) {
    const names = sections.map((section) => JSON.stringify(section.namespace)).join(", ");
    throw new Error(`${path}: it holds no namespace ${JSON.stringify(namespace)}, but ${names}`);
  }
  return wanted.map(({ namespace: own = namespace, file }) => ({ namespace: own, file }));
}
