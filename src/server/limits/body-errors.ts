import { Code } from "@connectrpc/connect";
import { ApiError, invalidArgument } from "../../api/api-error.js";

export function bodyTooLarge(limitBytes: number): ApiError {
  return new ApiError(Code.ResourceExhausted, `The body is larger than ${limitBytes} bytes`, { isLasting: true });
}

export function bodyTooSlow(limitMs: number): ApiError {
  return new ApiError(Code.DeadlineExceeded, `The body was not complete after ${limitMs / 1000} seconds`);
}

/** For bodies that may take any time as long as they go on arriving. */
export function pausedTooLong(limitMs: number): ApiError {
  return new ApiError(Code.DeadlineExceeded, `Nothing of the body has arrived for ${limitMs / 1000} seconds`);
}

/** The message of a request is missing. */
export function noMessage(): ApiError {
  return new ApiError(Code.Unimplemented, "The request holds no message; this method takes one");
}

/** The request ends before the end of its message, or of the frame before that. */
export function cutOff(where = "its message"): ApiError {
  return invalidArgument(`The request ends within ${where}`);
}

/** For methods that are not client streams. */
export function severalMessages(): ApiError {
  return new ApiError(Code.Unimplemented, "The request holds more than one message; this method takes one");
}

/** gRPC asks for `internal`. */
export function unnamedCompression(): ApiError {
  return new ApiError(Code.Internal, "The message is marked as compressed, but no header names the compression");
}

/** Only the lowest of the flags before a message has a meaning: it marks the message as compressed. */
export function unknownFlags(flags: number): ApiError {
  return invalidArgument(`The frame of the message has unknown flags (${flags})`);
}

/** Nobody sees this answer, but the log and the metrics do. */
export function clientGone(): ApiError {
  return new ApiError(Code.Canceled, "The client has gone");
}
