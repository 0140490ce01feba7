/** A load in which each connection sends the same request again and again. */
export interface Load {
  readonly protocol: "grpc" | "rest";
  readonly port: number;
  readonly path: string;
  /** The paths of the connections, one after the other, if they differ. */
  readonly paths?: readonly string[] | undefined;
  readonly method: "GET" | "POST";
  /** The bodies. Each connection uses one of them. */
  readonly bodies: readonly Uint8Array[];
  readonly connections: number;
  /** How many requests each connection sends at once; 1 for REST. */
  readonly outstanding: number;
}

export interface LoadResult {
  readonly calls: number;
  readonly elapsedMs: number;
}

export interface LoadConnection {
  /**
   * Sends until `stop`, a new request after each answer. Calls `onAnswer` for each successful answer and `onFailure`
   * for any failure.
   */
  start(onAnswer: () => void, onFailure: (error: Error) => void): void;
  /** Resolves when the last answer has arrived. */
  stop(): Promise<void>;
  close(): void;
}
