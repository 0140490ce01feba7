import { BinaryReader } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";

/** What there is instead of what a call expected; the one of these that the call named. */
export interface Current {
  /** The position that the message would get. */
  readonly position?: number;
  /** The revision of the session. */
  readonly revision?: number;
  /** The version of the draft. */
  readonly version?: number;
  /** How many messages a revert would remove. */
  readonly removedCount?: number;
}

/**
 * The error of a call that expected another position, revision, version or number of messages. It is a ConnectError
 * with the code `aborted` like any other.
 */
export class ConflictError extends ConnectError {
  readonly current: Current;

  constructor({ rawMessage, metadata, details, cause }: ConnectError, current: Current) {
    super(rawMessage, Code.Aborted, metadata, undefined, cause);
    this.details = details;
    this.current = current;
  }

  /** Connect recognizes its errors by what they hold, also those of another copy of the package. */
  static override [Symbol.hasInstance](value: unknown): value is ConflictError {
    return value instanceof ConnectError && "current" in value;
  }
}

/** Returns the error, as a ConflictError if the service says in its details what there is. */
export function withCurrent(error: ConnectError): ConnectError {
  if (error.code !== Code.Aborted) return error;
  for (const detail of error.details) {
    if ("value" in detail && "type" in detail && detail.type === "google.rpc.ErrorInfo") {
      const current = readCurrent(detail.value);
      if (current !== undefined) return new ConflictError(error, current);
    }
  }
  return error;
}

/** Reads the field `metadata` of an ErrorInfo, a map of texts. Undefined: it names nothing, or is not readable. */
function readCurrent(bytes: Uint8Array): Current | undefined {
  try {
    const info = new BinaryReader(bytes);
    while (info.pos < info.len) {
      const [field, type] = info.tag();
      if (field !== 3) {
        info.skip(type);
        continue;
      }
      const entry = new BinaryReader(info.bytes());
      entry.tag();
      const name = /^current_(position|revision|version|removed_count)$/.exec(entry.string())?.[1];
      entry.tag();
      const value = Number(entry.string());
      if (name !== undefined && Number.isSafeInteger(value))
        return { [name === "removed_count" ? "removedCount" : name]: value };
    }
  } catch {
    // Another service between may have changed what it did not understand.
  }
  return undefined;
}
