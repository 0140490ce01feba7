import { existsSync, type Stats } from "node:fs";
import { chmod, chown, type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";

/**
 * Writes a new file and moves it into place, so that a server that reads it meanwhile sees either the old file or the
 * new one. The new file has the owner and mode of the old one, because a server that cannot read it would continue with
 * what it has. A link to the file stays a link. While the new file exists, no other program can change the file.
 */
export async function changeFile(path: string, change: () => Promise<string>): Promise<void> {
  const target = existsSync(path) ? await realpath(path) : path;
  const draft = `${target}.new`;
  const file = await openDraft(draft);
  try {
    await file.writeFile(await change());
    await file.sync();
    await file.close();
    if (existsSync(target)) await takeAfter(draft, await stat(target));
    await rename(draft, target);
  } catch (error) {
    await file.close();
    await rm(draft, { force: true });
    throw error;
  }
}

async function openDraft(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    throw new Error(`${path} exists, so another program is changing the file. If none is, remove it`, { cause });
  }
}

async function takeAfter(path: string, { uid, gid, mode }: Stats): Promise<void> {
  const made = await stat(path);
  if (made.uid !== uid || made.gid !== gid) await chown(path, uid, gid);
  await chmod(path, mode & 0o777);
}
