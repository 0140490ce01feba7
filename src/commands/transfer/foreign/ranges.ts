import type { NumberRange } from "../../../domain/session-image.js";

/** The first messages of a list. */
export function firstOf(ranges: readonly NumberRange[], count: number): NumberRange[] {
  let left = count;
  return ranges.flatMap(({ first, last }) => {
    const end = Math.min(last, first + left - 1);
    left -= Math.max(end - first + 1, 0);
    return first <= end ? [{ first, last: end }] : [];
  });
}

/** The messages of a list, in as few ranges as it takes. */
export function joined(ranges: readonly NumberRange[]): NumberRange[] {
  const result: NumberRange[] = [];
  for (const { first, last } of ranges) {
    const previous = result.at(-1);
    if (previous && previous.last + 1 === first) result[result.length - 1] = { first: previous.first, last };
    else result.push({ first, last });
  }
  return result;
}

/** The messages of a list after the first ones. */
export function afterFirst(ranges: readonly NumberRange[], count: number): NumberRange[] {
  let left = count;
  return ranges.flatMap(({ first, last }) => {
    const start = first + Math.max(left, 0);
    left -= last - first + 1;
    return start <= last ? [{ first: start, last }] : [];
  });
}
