import { readUndelete } from "../config/retention-flags.js";
import { checkOwner } from "../domain/access.js";
import type { RootPool } from "../pool/root-pool.js";
import type { Pools } from "../pools.js";
import { confirm } from "./confirm.js";
import { type VacuumOptions, vacuumAfter, withErasureBar } from "./erase.js";
import { changeMatching, countMatching, wayBack } from "./matching-sessions.js";
import { print } from "./print.js";
import type { SessionsTarget } from "./sessions.js";
import { countSessions } from "./transfer/session-file.js";
import { withPools } from "./with-pools.js";

export interface DeletionOfOwner extends VacuumOptions {
  readonly owner: string;
  /** Whether the content is overwritten, too, that of sessions which were deleted before included. */
  readonly erase: boolean;
  /** Whether not to ask. */
  readonly yes: boolean;
}

/**
 * Deletes all sessions of an owner after it has said how many, and prints how many it was. May be stopped and repeated
 * at any time. Throws an Error when the owner has sessions again after an erasure.
 */
export async function deleteOwner(target: SessionsTarget, deletion: DeletionOfOwner): Promise<void> {
  const { owner, erase, yes } = deletion;
  checkOwner("--owner", owner);
  const remove = async (pools: Pools) => {
    const pool = pools.for(target.namespace);
    const count = await countMatching(pool.sessions, { owner });
    const intent = `${countSessions(count)} of ${JSON.stringify(owner)} will be deleted`;
    if (erase) {
      await confirm(`${intent}, and everything that these and deleted ones of the same owner hold will be erased`, yes);
      await eraseSessions(pool, owner, target);
      await vacuumAfter(pools, deletion);
      if ((await countMatching(pool.sessions, { owner })) === 0) return;
      throw new Error(`${JSON.stringify(owner)} has got new sessions meanwhile; run the command again`);
    }
    if (count > 0) await confirm(`${intent}; ${wayBack(target.undeleteDays)}`, yes);
    const deleteOne = ({ sessionId }: { readonly sessionId: string }) => {
      const deleting = pool.sessions.deleteSession(sessionId, { access: { owner } });
      return target.audit?.step({ sessionId }, deleting) ?? deleting;
    };
    const { changed } = await changeMatching(pool.sessions, { owner }, deleteOne, { what: "Deleting", count });
    print(
      target.json
        ? JSON.stringify({ owner, deleted: changed })
        : `Deleted ${countSessions(changed)} of ${JSON.stringify(owner)}`,
    );
  };
  const { storage, limits, undeleteDays = 0 } = target;
  await withPools(storage, remove, { limits, undeleteMs: readUndelete(undeleteDays) });
}

async function eraseSessions(pool: RootPool, owner: string, { json, audit }: SessionsTarget): Promise<void> {
  const onSession = (sessionId: string) => audit?.write({ sessionId, result: "ok" });
  const { sessions, copies } = await withErasureBar(pool, (onProgress) =>
    pool.sessions.eraseOwner(owner, { onProgress, onSession }),
  );
  const messages = `${copies.toLocaleString("en-US")} ${copies === 1 ? "message or draft" : "messages and drafts"}`;
  print(
    json
      ? JSON.stringify({ owner, erased: sessions, copies })
      : `Erased: ${countSessions(sessions)} of ${JSON.stringify(owner)}, with ${messages}`,
  );
}
