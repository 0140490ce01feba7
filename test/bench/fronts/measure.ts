import { processorMs } from "../../support/processor-time.js";
import { SERVER_CORE, startPeer, startServer } from "../processes.js";
import type { BareServerReady } from "./bare-server.js";
import { type Column, concurrencyOf, isFront, type Ports } from "./columns.js";
import { openGenerator } from "./generators.js";
import type { Operation, Store } from "./operations.js";

/** A program to measure: the file of a built server. */
export interface Build {
  readonly name: string;
  readonly program: string;
}

/** What a call costs at one column, for a front on one store in one build. A bare server has neither. */
export interface Cost {
  readonly operation: string;
  readonly column: string;
  readonly store?: Store | undefined;
  readonly build?: string | undefined;
  /** The processor time of each round, in microseconds a call. */
  readonly micros: readonly number[];
}

export interface MeasureOptions {
  readonly builds: readonly Build[];
  readonly columns: readonly Column[];
  readonly stores: readonly Store[];
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly onRound: () => void;
}

/** How long each process serves before it is measured, so that its code is compiled. */
const WARM_UP_SECONDS = 2;
const MOST_TRIES = 20;

interface Subject extends Omit<Cost, "micros"> {
  /** Serves for some seconds. Resolves to microseconds a call. */
  serve(seconds: number): Promise<number>;
  stop(): Promise<void>;
}

/** Measures a call at each column. All take turns, each with a process of its own, which serves nothing else. */
export async function measure(operation: Operation, options: MeasureOptions): Promise<Cost[]> {
  const { rounds, seconds, onRound } = options;
  const subjects: Subject[] = [];
  try {
    for await (const subject of openAll(operation, options)) subjects.push(subject);
    for (const { serve } of subjects) await serve(WARM_UP_SECONDS);
    const micros = subjects.map((): number[] => []);
    for (let round = 0; round < rounds; round++) {
      for (const [i, { serve }] of subjects.entries()) micros[i]?.push(await serve(seconds));
      onRound();
    }
    return subjects.map(({ column, store, build }, i) => ({
      operation: operation.id,
      column,
      store,
      build,
      micros: micros[i] as number[],
    }));
  } finally {
    await Promise.all(subjects.map(({ stop }) => stop()));
  }
}

async function* openAll(operation: Operation, options: MeasureOptions): AsyncGenerator<Subject> {
  for (const column of options.columns) {
    if (!isFront(column)) yield openBare(column, operation, options);
    else
      for (const store of options.stores)
        for (const build of options.builds) yield openFront(column, store, build, operation, options);
  }
}

async function openFront(
  column: Column,
  store: Store,
  { name, program }: Build,
  operation: Operation,
  { folder }: MeasureOptions,
): Promise<Subject> {
  const file = `${folder}/${operation.id}-${column.id}-${name}.db`;
  const server = await startServer(store === "SQLite" ? `sqlite:${file}` : "memory:", SERVER_CORE, { program });
  const stop = () => server.stop();
  try {
    await operation.prepare(server);
    const serve = await openLoad(folder, column, operation, server, server.pids);
    return { operation: operation.id, column: column.id, store, build: name, serve, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openBare(column: Column, operation: Operation, { folder }: MeasureOptions): Promise<Subject> {
  const { peer, ready } = await startPeer<never, BareServerReady>("bare-server", SERVER_CORE);
  const serve = await openLoad(folder, column, operation, ready, [peer.pid]);
  return { operation: operation.id, column: column.id, serve, stop: () => peer.stop() };
}

async function openLoad(
  folder: string,
  column: Column,
  operation: Operation,
  ports: Ports,
  pids: readonly number[],
): Promise<Subject["serve"]> {
  const request = column.request(operation, ports);
  const generate = await openGenerator(folder, request, concurrencyOf(operation, request));
  return async (seconds) => {
    const before = usedMs(pids);
    let calls = 0;
    // A machine that is very busy with other work may leave no time to a server for seconds.
    for (let tries = 0; calls === 0; tries++) {
      if (tries === MOST_TRIES) throw new Error(`${column.name} answered no call of ${request.path}`);
      calls = await generate(seconds);
    }
    return ((usedMs(pids) - before) * 1000) / calls;
  };
}

function usedMs(pids: readonly number[]): number {
  const ms = processorMs(...pids);
  if (ms === undefined) throw new Error("This system does not say how much processor time a process has used");
  return ms;
}
