/** A segment of a path template: a literal, `*` (any one segment) or `**` (any number of segments, only at the end). */
export type PathSegment = { readonly literal: string } | { readonly wildcard: "*" | "**" };

/** `{a.b=x/*}`: a field of the request and the segments of the path that it takes. */
export interface Variable {
  readonly fieldPath: string;
  /** The index of its first segment. */
  readonly start: number;
  /** The index after its last segment; meaningless when that is `**`. */
  readonly end: number;
  /** Whether it may take several segments. If so, `%2F` stays encoded, so that it differs from a slash. */
  readonly multiple: boolean;
}

/** A parsed path template of `google.api.http`. */
export interface Template {
  readonly segments: readonly PathSegment[];
  readonly variables: readonly Variable[];
  /** What follows the last `:`, or the empty string. */
  readonly verb: string;
}

const LITERAL = /^[A-Za-z0-9\-._~]+$/;
const FIELD_PATH = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$/;

/** Parses a template by the grammar of http.proto. Throws an Error that quotes it. */
export function parseTemplate(text: string): Template {
  const fail = (reason: string): never => {
    throw new Error(`Bad path template ${JSON.stringify(text)}: ${reason}`);
  };
  if (!text.startsWith("/")) fail("it must begin with a slash");
  const segments: PathSegment[] = [];
  const variables: Variable[] = [];
  const { path, verb } = splitVerb(text.slice(1));
  if (verb !== undefined && !LITERAL.test(verb)) fail(`bad verb ${JSON.stringify(verb)}`);

  for (const part of splitOutsideBraces(path)) {
    if (!part.startsWith("{")) {
      segments.push(parseSegment(part) ?? fail(`bad segment ${JSON.stringify(part)}`));
      continue;
    }
    if (!part.endsWith("}")) fail(`bad segment ${JSON.stringify(part)}`);
    const [fieldPath = "", inner = "*"] = splitOnce(part.slice(1, -1), "=");
    if (!FIELD_PATH.test(fieldPath)) fail(`bad field path ${JSON.stringify(fieldPath)}`);
    if (variables.some((other) => other.fieldPath === fieldPath)) fail(`${fieldPath} occurs twice`);
    const own = inner
      .split("/")
      .map((s) => parseSegment(s) ?? fail(`bad segment ${JSON.stringify(s)} in ${fieldPath}`));
    const start = segments.length;
    segments.push(...own);
    variables.push({ fieldPath, start, end: segments.length, multiple: own.length > 1 || isRest(own[0]) });
  }
  if (segments.slice(0, -1).some(isRest)) fail("** must be the last segment");
  return { segments, variables, verb: verb ?? "" };
}

export function isRest(segment: PathSegment | undefined): boolean {
  return segment !== undefined && "wildcard" in segment && segment.wildcard === "**";
}

/** The shape of a template: two templates with the same key match the same paths. */
export function templateKey(template: Template): string {
  const path = template.segments.map((s) => ("literal" in s ? s.literal : s.wildcard)).join("/");
  return `/${path}${template.verb === "" ? "" : `:${template.verb}`}`;
}

function parseSegment(text: string): PathSegment | undefined {
  if (text === "*" || text === "**") return { wildcard: text };
  if (text === "." || text === "..") return undefined;
  return LITERAL.test(text) ? { literal: text } : undefined;
}

/** The verb is what follows the last `:` of the last segment. */
function splitVerb(text: string): { path: string; verb: string | undefined } {
  const colon = text.lastIndexOf(":");
  if (colon < Math.max(text.lastIndexOf("/"), text.lastIndexOf("}"))) return { path: text, verb: undefined };
  return colon < 0 ? { path: text, verb: undefined } : { path: text.slice(0, colon), verb: text.slice(colon + 1) };
}

function splitOutsideBraces(text: string): string[] {
  return text.split(/\/(?![^{}]*\})/);
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
