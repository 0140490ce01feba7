/** The order in which the sessions of a file are stored. */
export interface ImportOrder {
  readonly sessions: Uint32Array;
  /** The sessions that are stored earlier than they stand in the file. */
  readonly moved: readonly number[];
}

/**
 * The order of the file, except that the source of a fork comes before the fork: the fork names its source by a uid,
 * which the source has only once it is stored. `sources` maps forks to their sources. A number is returned instead when
 * there is no such order: that of a session whose source was made from it.
 */
export function importOrder(count: number, sources: ReadonlyMap<number, number>): ImportOrder | number {
  const sessions = new Uint32Array(count);
  const moved: number[] = [];
  const isPlaced = new Uint8Array(count);
  let length = 0;
  for (let session = 0; session < count; session++) {
    const chain = new Set<number>();
    for (let next: number | undefined = session; next !== undefined && !isPlaced[next]; next = sources.get(next)) {
      if (chain.has(next)) return next;
      chain.add(next);
    }
    for (const next of [...chain].reverse()) {
      if (next !== session) moved.push(next);
      isPlaced[next] = 1;
      sessions[length++] = next;
    }
  }
  return { sessions, moved };
}
