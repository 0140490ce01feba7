import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";

interface Address {
  /** Checks that found the key to be wrong, less one for each second since. */
  failures: number;
  atMs: number;
  /** Checks that wait or run. */
  open: number;
}

interface Waiter {
  readonly address: Address;
  readonly begin: () => void;
  readonly refuse: (error: ApiError) => void;
}

/** Checks of one address that may wait or run, with its failures of late. */
const PER_ADDRESS = 16;
const WAITING = 64;
const ADDRESSES = 10_000;

/**
 * Runs slow comparisons of keys one at a time. The address that sent the fewest wrong keys of late goes first, and when too many wait,
 * the address that sent the most is refused: whoever guesses keys takes no turns from others.
 */
export class SlowChecks {
  readonly #addresses = new Map<string, Address>();
  readonly #waiters: Waiter[] = [];
  readonly #now: () => number;
  #isBusy = false;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Resolves to whether the key is right. `resource_exhausted`: the address has sent too many wrong ones, or too many keys wait. */
  async run(peer: string, isRight: () => Promise<boolean>): Promise<boolean> {
    const address = this.#addressOf(networkOf(peer));
    await this.#turn(address);
    try {
      const right = await isRight();
      if (!right) address.failures += 1;
      return right;
    } finally {
      address.open -= 1;
      this.#isBusy = false;
      this.#beginNext();
    }
  }

  #turn(address: Address): Promise<void> {
    if (load(address) >= PER_ADDRESS) return Promise.reject(tooMany());
    return new Promise((resolve, reject) => {
      address.open += 1;
      this.#waiters.push({ address, begin: resolve, refuse: reject });
      if (this.#waiters.length > WAITING) this.#refuseOne();
      this.#beginNext();
    });
  }

  #refuseOne(): void {
    const { address, refuse } = this.#take((a, b) => load(a) >= load(b));
    address.open -= 1;
    refuse(tooMany());
  }

  #beginNext(): void {
    if (this.#isBusy || this.#waiters.length === 0) return;
    this.#isBusy = true;
    this.#take((a, b) => a.failures < b.failures).begin();
  }

  /** Takes out the first waiter that none comes before. */
  #take(comesBefore: (a: Address, b: Address) => boolean): Waiter {
    let first = 0;
    for (let i = 1; i < this.#waiters.length; i++) {
      if (comesBefore(this.#waiters[i]!.address, this.#waiters[first]!.address)) first = i;
    }
    return this.#waiters.splice(first, 1)[0]!;
  }

  #addressOf(name: string): Address {
    const nowMs = this.#now();
    const address = this.#addresses.get(name) ?? { failures: 0, atMs: nowMs, open: 0 };
    const seconds = Math.max(0, Math.floor((nowMs - address.atMs) / 1000));
    address.failures = Math.max(0, address.failures - seconds);
    address.atMs += seconds * 1000;
    // Set anew, so that the one that was quiet for longest is the first to be forgotten.
    this.#addresses.delete(name);
    if (this.#addresses.size >= ADDRESSES) this.#addresses.delete(this.#addresses.keys().next().value as string);
    this.#addresses.set(name, address);
    return address;
  }
}

function load({ failures, open }: Address): number {
  return failures + open;
}

/** One client of IPv6 has all addresses of a network of 64 bits. */
function networkOf(peer: string): string {
  const ipv4 = peer.replace(/^::ffff:(?=\d+\.)/i, "");
  return ipv4.includes(":") ? ipv4.split("::")[0]!.split(":").slice(0, 4).join(":") : ipv4;
}

function tooMany(): ApiError {
  return new ApiError(Code.ResourceExhausted, "Too many keys are being checked; try again later");
}
