import { LocalDays } from "../../../domain/local-days.js";
import type { Usage } from "../../../domain/usage.js";
import type { GroupValues, UsageGroup } from "../../../domain/usage-groups.js";
import type { SessionRecord } from "../log-store.js";
import type { Group, GroupTable } from "./group-table.js";

/** Finds the groups that the messages of one session belong to. */
export class SessionGroups {
  readonly #by: readonly UsageGroup[];
  readonly #days: LocalDays;
  readonly #table: GroupTable;
  /** The values that all messages of the session share; others are filled in. */
  readonly #shared: GroupValues;
  /** The group of the message before, which is most often that of the next one. */
  #last: { readonly day: string; readonly usage: Usage; readonly tool: string; readonly group: Group | null } | null =
    null;

  constructor(by: readonly UsageGroup[], days: LocalDays, table: GroupTable, record: SessionRecord) {
    this.#by = by;
    this.#days = days;
    this.#table = table;
    this.#shared = by.map((group) => valueOfSession(group, record));
  }

  /** Null for a group that the table ignores. */
  find(timestampMicros: number, usage: Usage, tool = ""): Group | null {
    const day = this.#by.some(({ by }) => by === "day") ? this.#days.textOf(timestampMicros) : "";
    const last = this.#last;
    const isSame =
      last?.day === day &&
      last.tool === tool &&
      last.usage.model === usage.model &&
      last.usage.provider === usage.provider;
    if (last !== null && isSame && !this.#table.isCut) return last.group;
    const values = this.#by.map(({ by }, i) => {
      if (by === "day") return day;
      if (by === "tool") return tool;
      if (by === "model" || by === "provider") return usage[by] ?? "";
      return this.#shared[i] ?? null;
    });
    const group = this.#table.group(values);
    this.#last = { day, usage, tool, group };
    return group;
  }
}

/** Whether all messages of a session have the same value. */
function isOfSession({ by }: UsageGroup): boolean {
  return by === "owner" || by === "session" || by === "label";
}

function valueOfSession(group: UsageGroup, record: SessionRecord): string | null {
  if (group.by === "owner") return record.owner ?? "";
  if (group.by === "session") return record.sessionId;
  if (group.by !== "label" || record.labels === undefined || !Object.hasOwn(record.labels, group.key)) return null;
  return record.labels[group.key] ?? null;
}

/** Makes `SessionGroups` of sessions for one sum. */
export class GroupFinder {
  readonly #by: readonly UsageGroup[];
  readonly #days: LocalDays;

  constructor(by: readonly UsageGroup[], timeZone: string | undefined) {
    this.#by = by;
    this.#days = new LocalDays(timeZone);
  }

  /** Whether messages of the session may belong to groups that the table does not ignore. */
  mayFind(table: GroupTable, record: SessionRecord): boolean {
    const [first] = this.#by;
    return first === undefined || !isOfSession(first) || !table.ignoresAll(valueOfSession(first, record));
  }

  in(table: GroupTable, record: SessionRecord): SessionGroups {
    return new SessionGroups(this.#by, this.#days, table, record);
  }
}
