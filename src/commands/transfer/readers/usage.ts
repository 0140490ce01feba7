import { nameOf, usageOf } from "../../../domain/shapes/counts.js";
import { usageIn } from "../../../domain/shapes/usage-shapes.js";
import type { Usage } from "../../../domain/usage.js";
import type { ReadContext } from "./reader.js";

/** The field of a message; none when nothing is known. */
type WithUsage = { readonly usage?: Usage };

/** What a model's call took, in one of the known forms. A value that no usage can have is noted and left out. */
export function usageFrom(value: unknown, place: string, { notes }: Pick<ReadContext, "notes">): WithUsage {
  const usage = usageIn(value, (field) =>
    notes.mended("values of a usage that are not possible, which were left out", `${place}, ${field}`),
  );
  return usage === undefined ? {} : { usage };
}

/** The usage of a call of which only the model is known. */
export function usageOfModel(model: string, provider = ""): WithUsage {
  const usage = usageOf({ model: nameOf(model), provider: nameOf(provider) });
  return usage?.model === undefined ? {} : { usage };
}

/** Whether a call is met for the first time; from then on it is known. */
export function isNewCall(call: string, { calls }: Pick<ReadContext, "calls">): boolean {
  if (calls.has(call)) return false;
  calls.add(call);
  return true;
}
