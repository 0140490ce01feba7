import type { Db, Document } from "mongodb";
import { INDEXES } from "../../src/storage/mongodb/mongo-indexes.js";
import type { SentCommand } from "./mongo-commands.js";

/** What the server reports that it did for a command. */
export interface Plan {
  readonly stages: readonly string[];
  readonly keys: number;
  readonly documents: number;
  readonly returned: number;
}

export async function explain(db: Db, { command }: SentCommand): Promise<Plan> {
  const answer = await db.command({ explain: command, verbosity: "executionStats" });
  // A pipeline reads what its first stages ask for through a cursor.
  const asked = answer.stages?.[0]?.$cursor ?? answer;
  const stats = asked.executionStats as Document;
  const plan = stats.executionStages ?? asked.queryPlanner?.winningPlan;
  return {
    stages: stagesOf(plan as Document),
    keys: Number(stats.totalKeysExamined),
    documents: Number(stats.totalDocsExamined),
    returned: Number(stats.nReturned),
  };
}

/**
 * The index that serves the filter and the order of a command, by the rules that every planner follows: first the
 * fields that must be equal, then the fields of the order, then one range. Among several indexes, the one that uses
 * most of the filter, or only the index that the command names. An index of documents that have a field serves only
 * filters that ask for it. Null when there is none.
 */
export function servingKey({ name, command }: SentCommand): string | null {
  const [statement] = (command.updates ?? command.deletes ?? [command]) as Document[];
  const [stage] = (command.pipeline ?? []) as Document[];
  const filter = flattened((statement?.q ?? statement?.filter ?? statement?.query ?? stage?.$match ?? {}) as Document);
  const sort = Object.keys((command.sort as Document) ?? {});
  const keys = [
    { name: "_id_", fields: ["_id"] },
    ...INDEXES.filter(
      ({ collection, ifPresent }) =>
        collection === command[name] && (ifPresent === undefined || asksFor(filter[ifPresent])),
    ).map((index) => ({ name: index.name, fields: Object.keys(index.key) })),
  ];
  const hinted = keys.filter((key) => command.hint === undefined || key.name === command.hint);
  const rated = hinted.map((key) => ({ name: key.name, used: usedFields(key.fields, filter, sort) }));
  const best = rated.reduce((one, other) => (other.used > one.used ? other : one));
  return best.used > 0 ? best.name : null;
}

/** A filter with the conditions of its `$and` beside the others. */
function flattened({ $and = [], ...filter }: Document): Document {
  return Object.assign({}, ...($and as Document[]), filter) as Document;
}

/**
 * How many fields of the filter bound a scan of this index. 0 when a scan would not come in the order asked for, or
 * nothing bounds it.
 */
function usedFields(fields: readonly string[], filter: Document, sort: readonly string[]): number {
  const open = fields.findIndex((field) => !(field in filter) || isRange(filter[field]));
  const pinned = open < 0 ? fields : fields.slice(0, open);
  const rest = fields.slice(pinned.length);
  const order = sort.filter((field) => !pinned.includes(field));
  if (!order.every((field, i) => rest[i] === field)) return 0;
  return pinned.length + (rest[0] !== undefined && rest[0] in filter ? 1 : 0);
}

/** Whether no document without the field meets a condition. */
function asksFor(condition: unknown): boolean {
  if (typeof condition === "object" && condition !== null && "$exists" in condition) return condition.$exists === true;
  return condition !== undefined && condition !== null;
}

/** Whether a condition is a range. `$in` is not, because it stands for several equalities. */
function isRange(condition: unknown): boolean {
  return (
    typeof condition === "object" && condition !== null && Object.keys(condition).some((op) => /^\$[gl]te?$/.test(op))
  );
}

function stagesOf(plan: Document | undefined): readonly string[] {
  if (!plan) return [];
  const inner = [plan.inputStage, plan.queryPlan, ...((plan.inputStages as Document[]) ?? [])];
  return [plan.stage, ...inner.flatMap((stage) => stagesOf(stage as Document | undefined))].filter(Boolean) as string[];
}
