import type { Server } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";

/** `grpc.health.v1`: one state for the server (the empty name) and for each of its services. */
export class Health {
  readonly #names: readonly string[];
  readonly #implementation: HealthImplementation;

  constructor(serviceNames: readonly string[]) {
    this.#names = ["", ...serviceNames];
    this.#implementation = new HealthImplementation();
    this.setServing(false);
  }

  addTo(server: Pick<Server, "addService">): void {
    this.#implementation.addToServer(server as Server);
  }

  setServing(serving: boolean): void {
    for (const name of this.#names) this.#implementation.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
  }
}
