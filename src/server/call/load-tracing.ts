import manifest from "../../../package.json" with { type: "json" };

/** OpenTelemetry and the code that uses it. */
export type Tracing = typeof import("./tracing.js");

/**
 * Loads OpenTelemetry, which is large, and which npm therefore installs only for those who ask for it. Rejects with a
 * one-line message when it is not installed.
 */
export async function loadTracing(): Promise<Tracing> {
  try {
    return await import("./tracing.js");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const needed = Object.entries(manifest.peerDependencies).map(([name, versions]) => `${name}@${versions}`);
    throw new Error(
      `OTEL_ variables are set, but OpenTelemetry is not installed: run npm install ${needed.join(" ")}, or unset them`,
      { cause },
    );
  }
}
