import type { Db, Document } from "mongodb";
import { INDEXES } from "../../src/storage/mongodb/mongo-schema.js";
import type { SentCommand } from "./mongo-commands.js";

/** What the server says it did for a command. */
export interface Plan {
  readonly stages: readonly string[];
  readonly keys: number;
  readonly documents: number;
  readonly returned: number;
}

export async function explain(db: Db, { command }: SentCommand): Promise<Plan> {
  const answer = await db.command({ explain: command, verbosity: "executionStats" });
  const stats = answer.executionStats as Document;
  const plan = stats.executionStages ?? answer.queryPlanner?.winningPlan;
  return {
    stages: stagesOf(plan as Document),
    keys: Number(stats.totalKeysExamined),
    documents: Number(stats.totalDocsExamined),
    returned: Number(stats.nReturned),
  };
}

/**
 * Whether a key serves filter and order of a command without looking at what it does not return, by the rules every planner follows: equal fields first, then
 * the fields of the order, then one range. Answers the key's name; null when none does.
 */
export function servingKey({ name, command }: SentCommand): string | null {
  const collection = command[name] as string;
  const [statement] = (command.updates ?? command.deletes ?? [command]) as Document[];
  const filter = (statement?.q ?? statement?.filter ?? statement?.query ?? {}) as Document;
  const sort = Object.keys((command.sort as Document | Map<string, number>) ?? {});
  const keys = INDEXES.filter((index) => index.collection === collection).map(({ name: key, key: fields }) => ({
    key,
    fields: Object.keys(fields),
  }));
  return [{ key: "_id_", fields: ["_id"] }, ...keys].find(({ fields }) => serves(fields, filter, sort))?.key ?? null;
}

function serves(fields: readonly string[], filter: Document, sort: readonly string[]): boolean {
  const isEqual = (field: string) => field in filter && !isRange(filter[field]);
  const equal = fields.findIndex((field) => !isEqual(field));
  const pinned = equal < 0 ? fields : fields.slice(0, equal);
  const rest = equal < 0 ? [] : fields.slice(equal);
  const order = sort.filter((field) => !pinned.includes(field));
  const isOrdered = order.every((field, i) => rest[i] === field);
  const ranged = Object.keys(filter).filter((field) => isRange(filter[field]));
  const isBounded = pinned.length > 0 || (ranged.length > 0 && ranged.includes(fields[0] as string));
  return isOrdered && isBounded && ranged.slice(0, 1).every((field) => rest[0] === field || !fields.includes(field));
}

/** `$in` is several equalities. */
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
