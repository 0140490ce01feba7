import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

/**
 * A key or token, or a function that returns one for each call. `refused` is the key that the server has refused last,
 * so a function that keeps its key makes another one when that is the one it has.
 */
export type Key = string | ((signal: AbortSignal, refused: string | undefined) => string | Promise<string>);

type MakeKey = Exclude<Key, string>;

/** What the function is asked for, and how many calls wait for it. */
interface Question {
  readonly refused: string | undefined;
  readonly answer: Promise<string>;
  readonly end: AbortController;
  waiting: number;
}

/** Sends the key with each call. */
export function sendingKey(key: Key): Interceptor {
  if (typeof key === "function") return sendingKeysOf(key);
  const header = headerWith(key);
  return (next) => (request) => {
    request.header.set("Authorization", header);
    return next(request);
  };
}

/** A unary call whose key is refused is sent once more if the function has another key; it has changed nothing. */
function sendingKeysOf(make: MakeKey): Interceptor {
  const keys = new Keys(make);
  return (next) => async (request) => {
    const key = await keys.next(request.signal);
    request.header.set("Authorization", headerWith(key));
    try {
      const answer = await next(request);
      return answer.stream ? { ...answer, message: keys.hearing(answer.message, key) } : answer;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      keys.refuse(key);
      const other = request.stream ? key : await keys.other(key, request.signal);
      if (other === key) throw error;
      request.header.set("Authorization", headerWith(other));
      return await next(request);
    }
  };
}

/** Whether the server has refused the key. An error without a cause comes from the service. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unauthenticated && error.cause === undefined;
}

/** The keys of a function. Calls that need one at the same time ask for it once. */
class Keys {
  readonly #make: MakeKey;
  #question: Question | undefined;
  #latest: string | undefined;
  #refused: string | undefined;

  constructor(make: MakeKey) {
    this.#make = make;
  }

  /** Resolves to the key for a call. Rejects when the call has ended, even if the function never answers. */
  next(signal: AbortSignal): Promise<string> {
    this.#question ??= this.#ask();
    return this.#wait(this.#question, signal);
  }

  refuse(key: string): void {
    this.#refused = key;
  }

  /** Resolves to a key after this one was refused; to the same one if the function has no other. */
  async other(refused: string, signal: AbortSignal): Promise<string> {
    if (this.#latest !== undefined && this.#latest !== refused) return this.#latest;
    // A question from before the refusal may be answered with the same key.
    if (this.#question?.refused !== refused) this.#question = this.#ask();
    return await this.next(signal);
  }

  /** Passes a stream on, and hears when it ends because its key has expired. */
  async *hearing<T>(messages: AsyncIterable<T>, key: string): AsyncGenerator<T, void, undefined> {
    try {
      yield* messages;
    } catch (error) {
      if (isRefusal(error)) this.refuse(key);
      throw error;
    }
  }

  #ask(): Question {
    const end = new AbortController();
    const refused = this.#refused;
    const question = { refused, end, waiting: 0, answer: makeKey(this.#make, end.signal, refused) };
    const forget = () => {
      if (this.#question === question) this.#question = undefined;
    };
    question.answer.then((key) => {
      this.#latest = key;
      forget();
    }, forget);
    return question;
  }

  async #wait(question: Question, signal: AbortSignal): Promise<string> {
    let end = () => {};
    const ended = new Promise<never>((_resolve, reject) => {
      end = () => reject(signal.reason);
      if (signal.aborted) end();
      else signal.addEventListener("abort", end);
    });
    question.waiting++;
    try {
      return await Promise.race([ended, question.answer]);
    } finally {
      signal.removeEventListener("abort", end);
      question.waiting--;
      if (question.waiting === 0 && this.#question === question) {
        this.#question = undefined;
        question.end.abort(signal.reason);
      }
    }
  }
}

async function makeKey(make: MakeKey, signal: AbortSignal, refused: string | undefined): Promise<string> {
  try {
    const key = await make(signal, refused);
    headerWith(key);
    return key;
  } catch (error) {
    if (error instanceof ConnectError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const code = isNetworkError(error) ? Code.Unavailable : Code.Unauthenticated;
    throw new ConnectError(`No key: ${reason}`, code, undefined, undefined, error);
  }
}

function headerWith(key: string): string {
  if (typeof key === "string" && /^[!-~]+$/.test(key)) return `Bearer ${key}`;
  throw new TypeError("a key or ticket must be a text of visible ASCII characters without spaces and line ends");
}

/** What `fetch` says in each browser and in Node.js when the network fails. Any other TypeError is a programming error. */
const NETWORK_ERRORS =
  /^(fetch failed|failed to fetch|networkerror when attempting|load failed|network error|network request failed|terminated|the network connection was lost|the internet connection appears)/i;

function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "TimeoutError" || (error instanceof TypeError && NETWORK_ERRORS.test(error.message));
}
