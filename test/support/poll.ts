// These are taken before a test can replace them with fake timers.
const { setTimeout } = globalThis;
const nowMs = performance.now.bind(performance);

/**
 * Resolves when the condition holds. `what` completes the error "Timed out waiting until …". Rejects after `timeoutMs`,
 * which is far longer than a busy machine needs.
 */
export async function poll(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 120_000,
): Promise<void> {
  const endMs = nowMs() + timeoutMs;
  while (!(await condition())) {
    if (nowMs() > endMs) throw new Error(`Timed out after ${timeoutMs} ms waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
