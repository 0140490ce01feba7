import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { HttpProblem } from "../http/problem.js";

/** What a client has sent and the server does not take. `param` names the parameter, as OpenAI's errors do. */
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

/** The value as an object. */
export function asObject(value: unknown, param: string): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badParameter(param, "expected an object");
  return value as JsonObject;
}

/** The value as a list. */
export function asList(value: unknown, param: string): readonly JsonValue[] {
  if (!Array.isArray(value)) throw badParameter(param, "expected a list");
  return value as readonly JsonValue[];
}

/** Refuses members that this server does not know: whoever sends one expects something of it. */
export function refuseOthers(members: JsonObject, known: readonly string[]): void {
  for (const name of Object.keys(members)) {
    if (known.includes(name)) continue;
    throw new OpenAiProblem(Code.InvalidArgument, `Unknown parameter: '${name}'`, { param: name });
  }
}
