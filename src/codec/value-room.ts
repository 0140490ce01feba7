import { invalidArgument } from "../api/api-error.js";

/**
 * How deep the messages, objects and lists of a request may be nested: enough for a message around a Struct of any
 * allowed depth.
 */
export const MAX_DEPTH = 100;

/**
 * The room for what a request is decoded to. Bytes alone do not bound it: in eight million of them there is room for
 * four million values, each of which becomes an object. A request is therefore scanned before it is decoded.
 *
 * The unit is one value as JSON has it: a member of an object or an element of a list. Both forms of a request have
 * about the same number: in protobuf it is the number of fields, where a map's entry counts with its key and value, and
 * a Value of a Struct with its kind.
 */
export interface ValueRoom {
  /** The most values that a request may hold. */
  readonly mostValues: number;
  /** Counts the memory that so many values take until the request ends. Throws `resource_exhausted` without room. */
  holdValues(count: number): void;
}

export function tooManyValues(limit: number): Error {
  return invalidArgument(`The request holds more than ${limit} values`);
}

/** `what` is nested too deep. */
export function tooDeep(what: string): Error {
  return invalidArgument(`${what} is nested more than ${MAX_DEPTH} levels deep`);
}
