import { Code } from "@connectrpc/connect";
import { ExactNumber, type ExactObject, type ExactValue } from "../../codec/exact-json.js";
import { HttpProblem } from "../http/problem.js";

/** A request that the server does not accept. `param` names the parameter, as OpenAI's errors do. */
export class OpenAiProblem extends HttpProblem {
  readonly param: string | undefined;

  constructor(
    code: Code,
    message: string,
    options: { param?: string; status?: number; headers?: Record<string, string> },
  ) {
    super(code, message, options);
    this.param = options.param;
  }
}

export function badParameter(param: string, reason: string): OpenAiProblem {
  return new OpenAiProblem(Code.InvalidArgument, `Invalid '${param}': ${reason}`, { param });
}

/** Returns the value if it is an object; throws otherwise. */
export function asObject(value: ExactValue | undefined, param: string): ExactObject {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof ExactNumber)
    throw badParameter(param, "expected an object");
  return value as ExactObject;
}

/** Returns the value if it is a list; throws otherwise. */
export function asList(value: ExactValue | undefined, param: string): readonly ExactValue[] {
  if (!Array.isArray(value)) throw badParameter(param, "expected a list");
  return value as readonly ExactValue[];
}

/** Refuses members that this server does not know, because a client that sends one expects an effect. */
export function refuseOthers(members: ExactObject, known: readonly string[]): void {
  for (const name of Object.keys(members)) {
    if (known.includes(name)) continue;
    throw new OpenAiProblem(Code.InvalidArgument, `Unknown parameter: '${name}'`, { param: name });
  }
}
