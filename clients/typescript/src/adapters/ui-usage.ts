import { type Usage, usageOf, valueAt } from "../../../../src/domain/shapes/counts.js";
import { usageIn } from "../../../../src/domain/shapes/usage-shapes.js";
import { checkedUsage, plusUsages } from "../../../../src/domain/shapes/usages.js";

/**
 * A run of the AI SDK: what `streamText`, `generateText` or an agent has returned, or a list of its steps that grows by
 * `onStepFinish: (step) => void steps.push(step)`. What the steps took is summed up. Of a run that was aborted, the list
 * has the steps that were complete; what `streamText` has returned tells them in ai 6, and nothing in ai 7.
 */
export interface UIRun {
  readonly steps: PromiseLike<readonly object[]> | readonly object[];
  readonly totalUsage?: PromiseLike<object> | object;
}

/** When a stream was seen. */
export type SeenTimes = Pick<Usage, "startTimeMicros" | "firstTokenTimeMicros" | "durationMicros">;

/** How long to wait for what a run says once its stream has ended; a run that failed may never say anything. */
const PATIENCE_MS = 1000;

/** A step of a run, and what it took. */
export interface SpentStep {
  readonly step: object;
  readonly usage: Usage;
}

/** For each step, the messages whose usage has it, as `nameOfMessage` names them. */
const counted = new WeakMap<object, Set<string>>();

/**
 * The steps of a run that say what they took; a run that only tells a total counts as one step. Ask only after the
 * stream of the run has ended, because the SDK would otherwise begin to read it as fast as it comes.
 */
export async function spentSteps(run: UIRun | undefined): Promise<readonly SpentStep[]> {
  try {
    const steps = await soon(run?.steps);
    const spent = (steps ?? []).flatMap((step) => {
      const usage = usageOfStep(step);
      return usage === undefined ? [] : [{ step, usage }];
    });
    if (spent.length > 0 || run === undefined) return spent;
    const usage = usageIn({ usage: await soon(run.totalUsage) });
    return usage === undefined ? [] : [{ step: run, usage }];
  } catch {
    // It failed before a step was complete.
    return [];
  }
}

/** What steps took together; undefined when none does say. */
export function usageOfSteps(steps: readonly SpentStep[]): Usage | undefined {
  return plusUsages(steps.map(({ usage }) => usage));
}

/** Notes that the usage of a message has these steps. Called once it is stored. */
export function noteCounted(steps: readonly SpentStep[], sessionId: string, messageId: string): void {
  const name = nameOfMessage(sessionId, messageId);
  for (const { step } of steps) counted.set(step, (counted.get(step) ?? new Set()).add(name));
}

/** The steps that this process has not counted in the usage of a message. */
export function uncounted(steps: readonly SpentStep[], sessionId: string, messageId: string): readonly SpentStep[] {
  const name = nameOfMessage(sessionId, messageId);
  return steps.filter(({ step }) => counted.get(step)?.has(name) !== true);
}

function nameOfMessage(sessionId: string, messageId: string): string {
  return JSON.stringify([sessionId, messageId]);
}

/** The usage of an answer: what its run took or, without a run, what its metadata says, and when it was seen. */
export function usageOfAnswer(metadata: unknown, run: Usage | undefined, times: SeenTimes = {}): Usage | undefined {
  return checkedUsage({ ...(run ?? usageIn(metadata)), ...usageOf(times) });
}

function usageOfStep(step: object): Usage | undefined {
  const usage = usageIn(step);
  if (usage === undefined) return undefined;
  const model = valueAt(step, "response.modelId");
  const millis = valueAt(step, "performance.stepTimeMs");
  const took = typeof millis === "number" ? Math.round(millis * 1000) : usage.durationMicros;
  return checkedUsage({ ...usage, ...(typeof model === "string" && { model }), durationMicros: took });
}

async function soon<T>(value: PromiseLike<T> | T | undefined): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}
