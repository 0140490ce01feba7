/** Messages from a worker to the process that started it. */
export type FromWorker =
  | { readonly kind: "started"; readonly startLine: string; readonly grpcPort: number; readonly httpPort: number }
  | { readonly kind: "failed"; readonly text: string }
  | { readonly kind: "metrics"; readonly id: number };

/** Messages to a worker. */
export type ToWorker =
  | { readonly kind: "stop" }
  | { readonly kind: "reload" }
  | { readonly kind: "metrics"; readonly id: number; readonly text?: string; readonly error?: string };
