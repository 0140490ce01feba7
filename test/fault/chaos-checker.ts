/**
 * When a call was made and answered, by one clock. Infinity means that it was never answered. Such a call may have
 * taken effect at any time, or not at all.
 */
interface Interval {
  readonly calledAt: number;
  readonly answeredAt: number;
}

export interface SeenAppend extends Interval {
  readonly kind: "append";
  readonly session: string;
  /** The ids of the messages. Either all of them are stored, in this order, or none. */
  readonly ids: readonly string[];
  /** The position of the first message. Only answered appends have one. */
  readonly position: number;
}

export interface SeenList extends Interval {
  readonly kind: "list";
  readonly session: string;
  readonly offset: number;
  readonly limit: number;
  readonly ids: readonly string[];
}

export interface SeenCount extends Interval {
  readonly kind: "count";
  readonly session: string;
  readonly count: number;
}

export interface SeenFork extends Interval {
  readonly kind: "fork";
  readonly session: string;
  readonly target: string;
  readonly forkPoint: string | null;
  readonly copied: number;
}

/** A call that a client made to a session that is only appended to, with its result. */
export type Seen = SeenAppend | SeenList | SeenCount | SeenFork;

/** What a process returns for a session at the end. */
export interface Final {
  readonly ids: readonly string[];
  readonly count: number;
}

/** For each session, the answer of each process. */
export type Finals = ReadonlyMap<string, readonly Final[]>;

/**
 * Describes each contradiction in what clients saw. There is none if the calls can be put into one order that explains
 * all of it, with each call at a moment between being made and being answered. Sessions are only appended to, so every
 * position is decided once, and every read shows the beginning of what the last one shows.
 */
export function findViolations(history: readonly Seen[], finals: Finals): string[] {
  const forks = history.filter((one) => one.kind === "fork");
  return [...finals].flatMap(([session, answers]) => {
    const seen = history.filter((one) => one.session === session);
    const inherited = forks.find((fork) => fork.target === session)?.copied ?? 0;
    const last = answers[0]?.ids ?? [];
    const problems = [
      ...checkAnswers(answers),
      ...checkAppends(
        seen.filter((one) => one.kind === "append"),
        last,
        inherited,
      ),
      ...checkReads(seen, last, inherited),
      ...forks.filter((fork) => fork.session === session).flatMap((fork) => checkFork(fork, last, finals)),
    ];
    return problems.map((problem) => `${session}: ${problem}`);
  });
}

/** Checks that all processes return the same messages and the right count. */
function checkAnswers(answers: readonly Final[]): string[] {
  const problems = answers
    .filter(({ ids, count }) => ids.length !== count)
    .map(({ ids, count }) => `count is ${count}, pages have ${ids.length} messages`);
  const lists = new Set(answers.map(({ ids }) => ids.join()));
  return lists.size > 1 ? [...problems, "processes return different messages"] : problems;
}

function checkAppends(appends: readonly SeenAppend[], last: readonly string[], inherited: number): string[] {
  const problems: string[] = [];
  const places = new Map(last.map((id, place) => [id, place]));
  if (places.size < last.length) problems.push("a message is stored twice");
  const sent = new Set(appends.flatMap(({ ids }) => ids));
  for (const id of last.slice(inherited)) if (!sent.has(id)) problems.push(`nobody sent ${id}`);
  for (const { ids, answeredAt, position } of appends) {
    const stored = ids.filter((id) => places.has(id));
    const first = places.get(ids[0] as string) ?? -1;
    if (stored.length > 0 && stored.length < ids.length) problems.push(`only part of ${ids} is stored`);
    if (answeredAt < Number.POSITIVE_INFINITY) {
      if (stored.length === 0) problems.push(`${ids} was acknowledged but is lost`);
      else if (first !== position) problems.push(`${ids} was acknowledged at ${position} but is at ${first}`);
    }
    if (stored.length === ids.length && ids.some((id, i) => places.get(id) !== first + i)) {
      problems.push(`${ids} is not stored together and in order`);
    }
  }
  return [...problems, ...checkRealTime(appends, places)];
}

/** Checks that an append that was answered before another one was sent comes before it. */
function checkRealTime(appends: readonly SeenAppend[], places: ReadonlyMap<string, number>): string[] {
  const placed = appends
    .filter(({ ids }) => places.has(ids[0] as string))
    .sort((a, b) => (places.get(b.ids[0] as string) as number) - (places.get(a.ids[0] as string) as number));
  const problems: string[] = [];
  let earliest: SeenAppend | undefined;
  for (const append of placed) {
    if (earliest && earliest.answeredAt < append.calledAt) {
      problems.push(`${append.ids} was sent after ${earliest.ids} was acknowledged, but comes before it`);
    }
    if (!earliest || append.answeredAt < earliest.answeredAt) earliest = append;
  }
  return problems;
}

function checkReads(seen: readonly Seen[], last: readonly string[], inherited: number): string[] {
  const appends = seen.filter((one) => one.kind === "append");
  const sentAt = new Map(appends.flatMap(({ ids, calledAt }) => ids.map((id) => [id, calledAt] as const)));
  /** How many messages a read that was made at this time must show. */
  const leastAt = (time: number) =>
    appends
      .filter(({ answeredAt }) => answeredAt < time)
      .reduce((least, { position, ids }) => Math.max(least, position + ids.length), inherited);
  const problems: string[] = [];
  const lengths: (Interval & { readonly length: number })[] = [];

  for (const one of seen) {
    if (one.kind === "append" || one.kind === "fork") continue;
    const least = leastAt(one.calledAt);
    const shown = one.kind === "count" ? last.slice(0, one.count) : one.ids;
    if (one.kind === "list" && one.ids.some((id, i) => id !== last[one.offset + i])) {
      problems.push(`a page from ${one.offset} is not part of the messages: ${one.ids}`);
    }
    const end = one.kind === "count" ? one.count : one.offset + one.ids.length;
    const wanted = one.kind === "count" ? least : Math.min(least, one.offset + one.limit);
    if (end < wanted && (one.kind === "count" || wanted > one.offset)) {
      problems.push(`a ${one.kind} shows ${end} of ${wanted} messages that were acknowledged`);
    }
    if (one.kind === "count" && end > last.length) {
      problems.push(`a count shows ${end} messages, but there are only ${last.length}`);
    }
    const early = shown.find((id) => (sentAt.get(id) ?? 0) > one.answeredAt);
    if (early !== undefined) problems.push(`a ${one.kind} shows ${early} before it was sent`);
    const isWhole = one.kind === "count" || (one.ids.length < one.limit && one.ids.length > 0);
    if (isWhole) lengths.push({ calledAt: one.calledAt, answeredAt: one.answeredAt, length: end });
  }
  return [...problems, ...checkMonotonic(lengths)];
}

/** Checks that no read shows less than a read that was answered before it was made. */
function checkMonotonic(lengths: readonly (Interval & { readonly length: number })[]): string[] {
  const byAnswer = [...lengths].sort((a, b) => a.answeredAt - b.answeredAt);
  const byCall = [...lengths].sort((a, b) => a.calledAt - b.calledAt);
  const problems: string[] = [];
  let known = 0;
  let next = 0;
  for (const { calledAt, length } of byCall) {
    for (; (byAnswer[next]?.answeredAt ?? Number.POSITIVE_INFINITY) < calledAt; next++) {
      known = Math.max(known, byAnswer[next]?.length ?? 0);
    }
    if (length < known) problems.push(`a read shows ${length} messages after one that showed ${known}`);
  }
  return problems;
}

/** Checks that a fork begins with the first messages of its source, and still does so at the end. */
function checkFork(fork: SeenFork, last: readonly string[], finals: Finals): string[] {
  const { target, copied, forkPoint } = fork;
  const problems: string[] = [];
  if (forkPoint !== (last[copied - 1] ?? null))
    problems.push(`the fork ${target} ends at ${forkPoint} after ${copied}`);
  const kept = finals.get(target)?.[0]?.ids.slice(0, copied) ?? [];
  if (kept.join() !== last.slice(0, copied).join())
    problems.push(`the fork ${target} is not the first ${copied} messages`);
  return problems;
}
