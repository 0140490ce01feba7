import { invalidArgument } from "../../api/api-error.js";
import type { HttpRequest } from "../http/exchange.js";
import { header } from "../http/respond.js";

const SHA256_BYTES = 32;

/** A member of a dictionary of RFC 9651 whose value is bytes, with whatever parameters. */
const MEMBER = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):(?:\s*;[^,]*)?$/;
/** The same in the older form of RFC 3230, in which names have no case. */
const OLD_MEMBER = /^([A-Za-z0-9-]+)=(\S+)$/;

/**
 * The SHA-256 that the headers `Content-Digest` and `Digest` say the body has, in hexadecimal; undefined if they name
 * none. Other algorithms are ignored. Throws `invalid_argument` for a value that is malformed, or two that differ.
 */
export function digestOf(request: HttpRequest): string | undefined {
  const digests = [
    ...readDigests(request, "content-digest", MEMBER, "sha-256"),
    ...readDigests(request, "digest", OLD_MEMBER, "sha-256"),
  ];
  const [first, ...others] = digests;
  if (others.some((one) => one !== first)) throw invalidArgument("Content-Digest and Digest name different SHA-256s");
  return first;
}

function readDigests(request: HttpRequest, name: string, form: RegExp, algorithm: string): string[] {
  const value = header(request, name);
  if (value === undefined) return [];
  return value.split(",").flatMap((member) => {
    const [, given = "", base64 = ""] = form.exec(member.trim()) ?? [];
    if (given === "") throw malformed(name, value);
    if (given.toLowerCase() !== algorithm) return [];
    const bytes = Buffer.from(base64, "base64");
    if (bytes.length !== SHA256_BYTES || bytes.toString("base64") !== base64) throw malformed(name, value);
    return [bytes.toString("hex")];
  });
}

function malformed(name: string, value: string): Error {
  return invalidArgument(`${name} is ${JSON.stringify(value)}; a SHA-256 is written as ${EXAMPLES[name]}`);
}

const EXAMPLES: Readonly<Record<string, string>> = {
  "content-digest": "sha-256=:base64:",
  digest: "SHA-256=base64",
};
