/** A request of each connection, again and again. */
export interface Load {
  readonly protocol: "grpc" | "rest";
  readonly port: number;
  readonly path: string;
  readonly method: "GET" | "POST";
  /** Each connection has one of these. */
  readonly bodies: readonly Uint8Array[];
  readonly connections: number;
  /** Requests under way on each connection; REST has one. */
  readonly outstanding: number;
}

export interface LoadResult {
  readonly calls: number;
  readonly elapsedMs: number;
}

export interface LoadConnection {
  /** Sends until `stop`, one request for each answer. `onAnswer` is told of each good answer; `onFailure` of all else. */
  start(onAnswer: () => void, onFailure: (error: Error) => void): void;
  /** Resolves when the last answer is there. */
  stop(): Promise<void>;
  close(): void;
}
