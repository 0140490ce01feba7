/** OpenTelemetry and the code that uses it. */
export type Tracing = typeof import("./tracing.js");

/**
 * Loads OpenTelemetry, which is large and an optional dependency. Rejects with a one-line message when it is not
 * installed.
 */
export async function loadTracing(): Promise<Tracing> {
  try {
    return await import("./tracing.js");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new Error(
      "OTEL_ variables are set, but OpenTelemetry is not installed: install @opentelemetry/api and @opentelemetry/sdk-node, or unset them",
      { cause },
    );
  }
}
