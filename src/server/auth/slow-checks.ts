import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";

interface Address {
  /** Checks that found a wrong key, reduced by one for each second since. */
  failures: number;
  atMs: number;
  /** Until then it is known to have sent a wrong key. */
  suspectUntilMs: number;
  /** Checks that are waiting or running. */
  open: number;
}

type Lane = "suspect" | "clean";

interface Waiter {
  readonly address: Address;
  readonly begin: (lane: Lane) => void;
  readonly refuse: (error: ApiError) => void;
}

/** How many checks of one address may wait or run, including its recent failures. */
const PER_ADDRESS = 16;
const WAITING = 64;
const ADDRESSES = 10_000;
const SUSPECT_MS = 600_000;

/**
 * Runs slow comparisons of keys in two lanes: one for addresses that recently sent wrong keys (suspect), and one for
 * all others (clean). Each lane runs one comparison at a time. So someone who guesses keys delays no one else and uses
 * no more than one thread. In a lane, the address with the fewest failures goes first; among equals the newest check
 * does, because its client is the most likely to be still waiting.
 */
export class SlowChecks {
  readonly #addresses = new Map<string, Address>();
  readonly #waiters: Waiter[] = [];
  readonly #now: () => number;
  /** Whether a check is running for suspect addresses, and for others. */
  readonly #isBusy = { suspect: false, clean: false };

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /**
   * Resolves to whether the key is right. `resource_exhausted`: the address has sent too many wrong keys, or too many
   * keys are waiting.
   */
  async run(peer: string, isRight: () => Promise<boolean>): Promise<boolean> {
    const address = this.#addressOf(networkOf(peer));
    const lane = await this.#awaitLane(address);
    try {
      const right = await isRight();
      if (!right) {
        address.failures += 1;
        address.suspectUntilMs = this.#now() + SUSPECT_MS;
      }
      return right;
    } finally {
      address.open -= 1;
      this.#isBusy[lane] = false;
      this.#beginNext();
    }
  }

  #awaitLane(address: Address): Promise<Lane> {
    if (weightOf(address) >= PER_ADDRESS) return Promise.reject(tooMany());
    return new Promise((resolve, reject) => {
      address.open += 1;
      this.#waiters.push({ address, begin: resolve, refuse: reject });
      if (this.#waiters.length > WAITING) this.#refuseOne();
      this.#beginNext();
    });
  }

  /**
   * Refuses a waiting check of a suspect address if there is one, otherwise of any address. Of these addresses, it
   * chooses the one with the most checks and failures.
   */
  #refuseOne(): void {
    const lane = this.#waiters.some(({ address }) => this.#laneOf(address) === "suspect") ? "suspect" : "clean";
    const waiter = this.#take(lane, (a, b) => weightOf(a) > weightOf(b));
    if (waiter === undefined) return;
    waiter.address.open -= 1;
    waiter.refuse(tooMany());
  }

  #beginNext(): void {
    for (const lane of ["clean", "suspect"] as const) {
      if (this.#isBusy[lane]) continue;
      const waiter = this.#take(lane, (a, b) => a.failures <= b.failures);
      if (waiter === undefined) continue;
      this.#isBusy[lane] = true;
      waiter.begin(lane);
    }
  }

  /** Removes the waiter of the lane that comes before all others. Waiters are kept in the order in which they came. */
  #take(lane: Lane, comesBefore: (later: Address, earlier: Address) => boolean): Waiter | undefined {
    let first: Waiter | undefined;
    for (const waiter of this.#waiters) {
      if (this.#laneOf(waiter.address) !== lane) continue;
      if (first === undefined || comesBefore(waiter.address, first.address)) first = waiter;
    }
    if (first !== undefined) this.#waiters.splice(this.#waiters.indexOf(first), 1);
    return first;
  }

  #laneOf({ suspectUntilMs }: Address): Lane {
    return this.#now() < suspectUntilMs ? "suspect" : "clean";
  }

  #addressOf(name: string): Address {
    const nowMs = this.#now();
    const address = this.#addresses.get(name) ?? { failures: 0, atMs: nowMs, suspectUntilMs: 0, open: 0 };
    const seconds = Math.max(0, Math.floor((nowMs - address.atMs) / 1000));
    address.failures = Math.max(0, address.failures - seconds);
    address.atMs += seconds * 1000;
    // Inserted again, so that the address that was quiet for longest is the first to be forgotten.
    this.#addresses.delete(name);
    if (this.#addresses.size >= ADDRESSES) this.#addresses.delete(this.#addresses.keys().next().value as string);
    this.#addresses.set(name, address);
    return address;
  }
}

function weightOf({ failures, open }: Address): number {
  return failures + open;
}

/** A single IPv6 client has all addresses of a 64-bit network. */
function networkOf(peer: string): string {
  const ipv4 = peer.replace(/^::ffff:(?=\d+\.)/i, "");
  return ipv4.includes(":") ? ipv4.split("::")[0]!.split(":").slice(0, 4).join(":") : ipv4;
}

function tooMany(): ApiError {
  return new ApiError(Code.ResourceExhausted, "Too many keys are being checked; try again later");
}
