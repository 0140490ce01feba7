import { isCurrency } from "./currencies.js";
import { type DomainError, invalidArgument } from "./errors.js";
import { isCost, type Usage } from "./usage.js";
import { checkBytes, checkIsObject, checkText, hasControl } from "./validate.js";

/** The largest number of tokens, each. */
export const MOST_TOKENS = 1_000_000_000;
/** The length of the name of a model or a provider, in bytes. */
export const MOST_NAME_BYTES = 128;
const MOST_DURATION_DAYS = 30;
const MOST_DURATION_MICROS = MOST_DURATION_DAYS * 86_400_000_000;

/** Checks a usage as far as it is given; `field` is its name in errors. */
export function checkUsage(field: string, usage: Usage | undefined): void {
  if (usage === undefined) return;
  checkIsObject(field, usage);
  checkNameOf(field, "model", usage.model);
  checkNameOf(field, "provider", usage.provider);
  checkTokens(field, "input_tokens", usage.inputTokens);
  checkTokens(field, "output_tokens", usage.outputTokens);
  checkTokens(field, "cached_input_tokens", usage.cachedInputTokens);
  checkTokens(field, "reasoning_tokens", usage.reasoningTokens);
  checkCost(field, usage);
  checkTimes(field, usage);
}

/** Checks the name of a model or a provider. */
export function checkName(field: string, name: string | undefined): void {
  if (name === undefined) return;
  checkText(field, name);
  checkBytes(field, Buffer.byteLength(name), MOST_NAME_BYTES);
  if (hasControl(name)) throw invalidArgument(`${field} must not contain control characters`);
}

function checkNameOf(field: string, name: string, value: string | undefined): void {
  if (value !== undefined) checkName(`${field}.${name}`, value);
}

function checkTokens(field: string, name: string, tokens: number | undefined): void {
  if (tokens === undefined || (Number.isInteger(tokens) && tokens >= 0 && tokens <= MOST_TOKENS)) return;
  throw wrongTokens(`${field}.${name}`, tokens);
}

/** The error for a number of tokens that is not allowed. */
export function wrongTokens(field: string, tokens: number | bigint): DomainError {
  return invalidArgument(`${field} is ${tokens}; a whole number from 0 to ${MOST_TOKENS} is allowed`);
}

function checkCost(field: string, { cost = "", currency = "" }: Usage): void {
  checkText(`${field}.cost`, cost);
  checkText(`${field}.currency`, currency);
  if (cost === "") {
    if (currency === "") return;
    throw invalidArgument(`${field}.currency must be empty without a cost`);
  }
  if (!isCost(cost)) {
    const form = "at most 12 digits before the point and 18 after it, without sign and exponent";
    throw invalidArgument(`${field}.cost is no decimal number with ${form}`);
  }
  if (currency === "") throw invalidArgument(`${field}.currency is required with a cost`);
  if (!isCurrency(currency)) {
    throw invalidArgument(`${field}.currency is no code of ISO 4217, which are three letters such as USD`);
  }
}

function checkTimes(field: string, { startTimeMicros, firstTokenTimeMicros, durationMicros }: Usage): void {
  checkTime(`${field}.start_time`, startTimeMicros);
  checkTime(`${field}.first_token_time`, firstTokenTimeMicros);
  if (startTimeMicros !== undefined && firstTokenTimeMicros !== undefined && firstTokenTimeMicros < startTimeMicros) {
    throw invalidArgument(`${field}.first_token_time is before start_time`);
  }
  if (durationMicros === undefined) return;
  if (Number.isInteger(durationMicros) && durationMicros >= 0 && durationMicros <= MOST_DURATION_MICROS) return;
  throw invalidArgument(`${field}.duration is out of range: from 0 to ${MOST_DURATION_DAYS} days are allowed`);
}

function checkTime(field: string, micros: number | undefined): void {
  if (micros === undefined || Number.isSafeInteger(micros)) return;
  throw invalidArgument(`${field} is out of range: a whole number of microseconds up to 2^53 is allowed`);
}
