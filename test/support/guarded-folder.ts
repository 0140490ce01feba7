import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Reads until the tests close its input, which the system does for a process that was killed. Then it ends the server
 * whose pid file is in the folder, with all of its processes, even if they are stopped, and deletes the folder. The
 * server's command line names the folder, so a process that has got the id of one that died is left alone.
 */
const GUARD = `
cat >/dev/null
folder=$1
pid=$(head -n 1 "$folder/$2" 2>/dev/null)
runs() { [ -n "$pid" ] && ps -ww -o args= -p "$pid" | grep -qF -- "$folder"; }
if runs; then
  pkill -CONT -P "$pid"
  kill -CONT "$pid"
  kill -QUIT "$pid"
fi
for try in $(seq 200); do
  runs || break
  if [ "$try" -eq 100 ]; then
    pkill -KILL -P "$pid"
    kill -KILL "$pid"
  fi
  sleep 0.1
done
for try in $(seq 100); do
  umount "$folder" 2>/dev/null
  rm -rf "$folder" && break
  sleep 0.1
done`;

export interface GuardedFolder {
  readonly path: string;
  /** Ends the server that has its pid file in the folder, and deletes the folder. */
  remove(): Promise<void>;
}

/**
 * Makes a folder for the files of one server. A process of its own watches over it: the server and the folder are gone
 * soon after the tests, however those end. The first line of the server's pid file is its process id, and its command
 * line names the folder. With `diskMegabytes` the folder is a disk of its own of this size, which only root can make.
 */
export async function guardedFolder(prefix: string, pidFile: string, diskMegabytes?: number): Promise<GuardedFolder> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  // In a session of its own, it survives the Ctrl-C that ends the tests.
  const guard = spawn("sh", ["-c", GUARD, "sh", path, pidFile], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const ended = once(guard, "exit");
  guard.unref();
  (guard.stdin as Socket).unref();
  const remove = async () => {
    guard.ref();
    guard.stdin.end();
    await ended;
  };
  if (diskMegabytes !== undefined) {
    const mounted = run("mount", ["-t", "tmpfs", "-o", `size=${diskMegabytes}m,mode=700`, "tmpfs", path]);
    await mounted.catch(async (error: unknown) => {
      await remove();
      throw error;
    });
  }
  return { path, remove };
}
