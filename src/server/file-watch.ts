import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";

const SETTLE_MS = 100;

/** Calls back after a file changed, also when another one was moved into its place. Returns what ends it. */
export function watchFile(path: string, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const name = basename(path);
  // The folder is watched: a watched file that is replaced tells nothing any more. Kubernetes swaps a link beside it.
  const watcher: FSWatcher = watch(dirname(path), { persistent: false }, (_event, changed) => {
    if (changed !== null && changed !== name && !changed.startsWith("..")) return;
    clearTimeout(timer);
    timer = setTimeout(onChange, SETTLE_MS);
    timer.unref();
  });
  watcher.on("error", onChange);
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
