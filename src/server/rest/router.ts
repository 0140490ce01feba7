import { isRest, parseTemplate, type Template, templateKey } from "./template.js";

/** The target of a path and a method, with the undecoded text of each variable of the template. */
export interface Match<T> {
  readonly target: T;
  readonly variables: readonly MatchedVariable[];
}

export interface MatchedVariable {
  readonly fieldPath: string;
  readonly rawText: string;
  readonly multiple: boolean;
}

interface Leaf<T> {
  readonly target: T;
  readonly template: Template;
}

/** The routes that end at a node, by verb, then by HTTP method. */
type Leaves<T> = Map<string, Map<string, Leaf<T>>>;

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  wildcard: Node<T> | undefined;
  readonly leaves: Leaves<T>;
  /** Routes that end in `**` at this node. */
  readonly rest: Leaves<T>;
}

/** A custom binding with this method accepts any method. */
const ANY_METHOD = "*";

/**
 * All routes in one trie. Of several templates that match a path and have the method, the one whose leftmost differing
 * segment is a literal wins. Paths are compared as they are sent: nothing is normalised, and `%3A` does not count as
 * the colon of a verb.
 */
export class Router<T> {
  readonly #root: Node<T> = makeNode();
  readonly #methods = new Set<string>();

  /** Adds a route. Throws if the template is invalid or a route with the same method and shape exists. */
  add(method: string, templateText: string, target: T): void {
    const template = parseTemplate(templateText);
    let node = this.#root;
    for (const segment of template.segments) {
      if (isRest(segment)) break;
      node = "literal" in segment ? child(node.literals, segment.literal) : wildcardChild(node);
    }
    const leaves = isRest(template.segments.at(-1)) ? node.rest : node.leaves;
    const byMethod = leaves.get(template.verb) ?? new Map<string, Leaf<T>>();
    if (byMethod.has(method))
      throw new Error(`Two routes for ${method} ${templateKey(template)}: ${templateText} and another`);
    leaves.set(template.verb, byMethod.set(method, { target, template }));
    this.#methods.add(method);
  }

  /**
   * The route of an undecoded path; if no route has the method, the methods that the path allows (none for an unknown
   * path).
   */
  match(method: string, path: string): Match<T> | { readonly allowed: ReadonlySet<string> } {
    const segments = splitPath(path);
    const leaf = segments && find(this.#root, segments, 0, method, undefined);
    if (segments && leaf) return { target: leaf.target, variables: readVariables(leaf.template, segments) };
    const allowed = new Set<string>();
    if (segments) find(this.#root, segments, 0, method, allowed);
    return { allowed };
  }

  /** Every method of any route. */
  get methods(): ReadonlySet<string> {
    return this.#methods;
  }
}

/** Splits a path. Undefined for a path that nothing can match: with an empty segment, `.` or `..`, however encoded. */
function splitPath(path: string): string[] | undefined {
  if (!path.startsWith("/")) return undefined;
  const segments = path.slice(1).split("/");
  return segments.some(isUnroutable) ? undefined : segments;
}

function isUnroutable(segment: string): boolean {
  if (segment === "") return true;
  return (segment[0] === "." || segment[0] === "%") && /^(\.|%2e){1,2}$/i.test(segment);
}

/**
 * Searches depth first, literals before wildcards, so that the leftmost literal wins. Adds the methods of every path
 * that would match to `allowed`.
 */
function find<T>(
  node: Node<T>,
  segments: readonly string[],
  index: number,
  method: string,
  allowed: Set<string> | undefined,
): Leaf<T> | undefined {
  const segment = segments[index];
  if (segment === undefined)
    return pick(node.leaves.get(""), method, allowed) ?? pickRest(node, undefined, method, allowed);
  const last = index === segments.length - 1;
  const literal = node.literals.get(segment);
  return (
    (last ? pickVerb(node, segment, method, allowed) : undefined) ??
    (literal && find(literal, segments, index + 1, method, allowed)) ??
    (node.wildcard && find(node.wildcard, segments, index + 1, method, allowed)) ??
    pickRest(node, segments.at(-1), method, allowed)
  );
}

/** The routes with a verb that end with this segment. */
function pickVerb<T>(
  node: Node<T>,
  segment: string,
  method: string,
  allowed: Set<string> | undefined,
): Leaf<T> | undefined {
  const colon = segment.lastIndexOf(":");
  if (colon <= 0) return undefined;
  const verb = segment.slice(colon + 1);
  if (verb === "") return undefined;
  const literal = node.literals.get(segment.slice(0, colon));
  return pick(literal?.leaves.get(verb), method, allowed) ?? pick(node.wildcard?.leaves.get(verb), method, allowed);
}

/** The routes whose `**` takes the remaining segments, the last of which ends with `lastSegment`. */
function pickRest<T>(
  node: Node<T>,
  lastSegment: string | undefined,
  method: string,
  allowed: Set<string> | undefined,
): Leaf<T> | undefined {
  if (node.rest.size === 0) return undefined;
  const colon = lastSegment?.lastIndexOf(":") ?? -1;
  const verb = colon < 0 ? "" : lastSegment?.slice(colon + 1);
  const withVerb = verb ? pick(node.rest.get(verb), method, allowed) : undefined;
  return withVerb ?? pick(node.rest.get(""), method, allowed);
}

function pick<T>(
  byMethod: Map<string, Leaf<T>> | undefined,
  method: string,
  allowed: Set<string> | undefined,
): Leaf<T> | undefined {
  if (!byMethod) return undefined;
  const leaf = byMethod.get(method) ?? byMethod.get(ANY_METHOD);
  if (!leaf && allowed) for (const other of byMethod.keys()) allowed.add(other);
  return leaf;
}

function readVariables(template: Template, segments: readonly string[]): MatchedVariable[] {
  const { verb } = template;
  return template.variables.map(({ fieldPath, start, end, multiple }) => {
    // The usual case, without making lists.
    if (!multiple && verb === "") return { fieldPath, rawText: segments[start] as string, multiple };
    const toTheEnd = end === template.segments.length;
    const taken = toTheEnd ? segments.slice(start) : segments.slice(start, end);
    const text = taken.join("/");
    const rawText = toTheEnd && verb !== "" ? text.slice(0, -(verb.length + 1)) : text;
    return { fieldPath, rawText, multiple };
  });
}

function child<T>(children: Map<string, Node<T>>, key: string): Node<T> {
  const known = children.get(key);
  if (known) return known;
  const made = makeNode<T>();
  children.set(key, made);
  return made;
}

function wildcardChild<T>(node: Node<T>): Node<T> {
  node.wildcard ??= makeNode();
  return node.wildcard;
}

function makeNode<T>(): Node<T> {
  return { literals: new Map(), wildcard: undefined, leaves: new Map(), rest: new Map() };
}
