import { Code } from "@connectrpc/connect";
import type { Attachment } from "../../../gen/sessionpool/v1/attachment_service_pb.js";
import type { HttpRequest } from "../http/exchange.js";
import { HttpProblem } from "../http/problem.js";
import { header } from "../http/respond.js";
import { namesTag } from "../http/static-routes.js";

/** What to answer: the status, and which of the bytes. */
export interface Choice {
  readonly status: 200 | 206 | 304;
  readonly offset: number;
  readonly length: number;
}

/** The headers on which the answer to a GET depends. */
const PRECONDITIONS = ["if-match", "if-none-match", "range"] as const;

/** Whether the answer depends on what is stored, so that its size and its tag must be known before it is read. */
export function hasPreconditions(request: HttpRequest): boolean {
  return request.method === "HEAD" || PRECONDITIONS.some((name) => request.headers[name] !== undefined);
}

/** The entity tag. It is a strong one: the same tag means the same bytes. */
export function tagOf({ sha256 }: Attachment): string {
  return `"${sha256}"`;
}

/**
 * Chooses by RFC 9110. Throws a problem with 412 or 416. Without a Last-Modified, dates in preconditions mean nothing:
 * one in If-Range is never the right tag, and the others are ignored.
 */
export function chooseAnswer(request: HttpRequest, attachment: Attachment): Choice {
  const tag = tagOf(attachment);
  const size = Number(attachment.size);
  const match = header(request, "if-match");
  if (match !== undefined && !isStrongMatch(match, tag)) {
    const text = `The entity tag is ${tag}, which If-Match does not name`;
    throw new HttpProblem(Code.FailedPrecondition, text, { status: 412 });
  }
  if (namesTag(header(request, "if-none-match"), tag)) return { status: 304, offset: 0, length: 0 };
  const range = request.method === "HEAD" ? undefined : wantedRange(request, tag);
  // Nothing of an empty attachment could be named in Content-Range.
  if (range === undefined || size === 0) return { status: 200, offset: 0, length: size };
  const { offset, length } = within(range, size);
  if (length > 0) return { status: 206, offset, length };
  const text = `Range is ${JSON.stringify(header(request, "range"))}; the attachment has ${size} bytes`;
  throw new HttpProblem(Code.OutOfRange, text, { status: 416, headers: { "content-range": `bytes */${size}` } });
}

/** The value of Content-Range. */
export function contentRange({ offset, length }: Choice, { size }: Attachment): string {
  return `bytes ${offset}-${offset + length - 1}/${size}`;
}

/** The first and the last byte; without the first one, the last is how many bytes of the end are wanted. */
type Range = { readonly first: number; readonly last: number } | { readonly suffix: number };

/** Several ranges, like a range that is malformed or in another unit, are ignored, as RFC 9110 permits. */
function wantedRange(request: HttpRequest, tag: string): Range | undefined {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/i.exec(header(request, "range")?.trim() ?? "") ?? [];
  const ifRange = header(request, "if-range");
  if (ifRange !== undefined && ifRange.trim() !== tag) return undefined;
  if (first === "") return last === "" ? undefined : { suffix: Number(last) };
  const end = last === "" ? Number.POSITIVE_INFINITY : Number(last);
  return Number(first) <= end ? { first: Number(first), last: end } : undefined;
}

/** The part of a range that there is, which may be nothing. */
function within(range: Range, size: number): { readonly offset: number; readonly length: number } {
  if ("suffix" in range) {
    const length = Math.min(range.suffix, size);
    return { offset: size - length, length };
  }
  return { offset: range.first, length: Math.max(0, Math.min(range.last + 1, size) - range.first) };
}

/** Weak tags never match: what is to be changed or read on must have exactly these bytes. */
function isStrongMatch(list: string, tag: string): boolean {
  return list.split(",").some((one) => one.trim() === "*" || one.trim() === tag);
}
