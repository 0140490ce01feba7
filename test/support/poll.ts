/** Resolves when the condition holds; rejects when it does not after the time that the test may take. */
export async function poll(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 30_000,
): Promise<void> {
  const endMs = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error(`Not so after ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
