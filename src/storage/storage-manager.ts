import type { Call } from "../domain/call.js";
import { StorageProvider } from "./storage-provider.js";

/** Every operation of a provider. */
export type StorageOperations = Pick<StorageProvider, keyof StorageProvider>;

/**
 * Holds the configured providers and forwards every operation of StorageProvider to the active one, with its arguments
 * as they are. The layers above reach storage only through it.
 */
export class StorageManager extends StorageProvider {
  readonly #providers: ReadonlyMap<string, StorageProvider>;
  readonly #active: StorageProvider;

  /** Activates the provider with this name, or the first one when no name is given. */
  constructor(providers: Readonly<Record<string, StorageProvider>>, activeName?: string) {
    super();
    this.#providers = new Map(Object.entries(providers));
    const name = activeName ?? this.names[0];
    const active = name === undefined ? undefined : this.#providers.get(name);
    if (active === undefined) {
      throw new RangeError(`No storage provider ${JSON.stringify(name ?? "")}; configured: ${this.names.join(", ")}`);
    }
    this.#active = active;
  }

  /** The names of the configured providers. */
  get names(): readonly string[] {
    return [...this.#providers.keys()];
  }

  get active(): StorageProvider {
    return this.#active;
  }

  /** Closes all providers. */
  override async close(call?: Call): Promise<void> {
    await Promise.all([...this.#providers.values()].map((provider) => provider.close(call)));
  }

  static {
    for (const name of Object.getOwnPropertyNames(StorageProvider.prototype)) {
      if (Object.hasOwn(StorageManager.prototype, name)) continue;
      const { [name]: forward } = {
        [name](this: StorageManager, ...args: readonly unknown[]): unknown {
          return Reflect.apply(Reflect.get(this.active, name), this.active, args);
        },
      };
      Object.defineProperty(StorageManager.prototype, name, { value: forward, configurable: true, writable: true });
    }
  }
}
