import { checkOwner } from "../domain/access.js";
import type { Session } from "../domain/session.js";
import type { Pools } from "../pools.js";
import { confirm } from "./confirm.js";
import { changeMatching, countMatching } from "./matching-sessions.js";
import { print } from "./print.js";
import type { SessionsTarget } from "./sessions.js";
import { countSessions } from "./transfer/session-file.js";
import { withPools } from "./with-pools.js";

export interface Assignment {
  /** The owner that the sessions get. */
  readonly owner: string;
  /** The owner that they have; without one, those that have none. */
  readonly from?: string | undefined;
  readonly label?: readonly string[] | undefined;
  readonly parent?: string | undefined;
  /** Whether all sessions are meant, rather than those with a label or a parent. */
  readonly all: boolean;
  /** Whether not to ask. */
  readonly yes: boolean;
}

/**
 * Gives sessions an owner after it has said how many, and prints how many it was. A session that somebody else changes
 * meanwhile is looked at again, and left alone once it has an owner. May be stopped and repeated at any time.
 */
export async function assignSessions(target: SessionsTarget, assignment: Assignment): Promise<void> {
  const { owner, from = "", label = [], parent = "", all, yes } = assignment;
  checkOwner("--owner", owner);
  checkOwner("--from", from);
  if (from === owner) throw new Error(`--from and --owner are both ${JSON.stringify(owner)}`);
  if (label.length === 0 && parent === "" && !all) {
    throw new Error("Say which sessions are meant: --label, --parent or --all");
  }
  const filter = { owner: from, labels: label, parentId: parent };
  const assign = async (pools: Pools) => {
    const { sessions } = pools.for(target.namespace);
    const count = await countMatching(sessions, filter);
    const before = from === "" ? "without an owner" : `of ${JSON.stringify(from)}`;
    const intent = `${countSessions(count)} ${before} will get the owner ${JSON.stringify(owner)}`;
    if (count > 0) await confirm(intent, yes);
    const give = async ({ sessionId, revision }: Session) => {
      const giving = sessions.updateSession(sessionId, { owner }, { expectedRevision: revision });
      await (target.audit?.step({ sessionId }, giving) ?? giving);
    };
    const { changed, left } = await changeMatching(sessions, filter, give, { what: "Assigning", count });
    if (target.json) return print(JSON.stringify({ owner, assigned: changed, left }));
    const note =
      left === 0 ? "" : `; ${countSessions(left)} left alone, because they were deleted or changed meanwhile`;
    print(`Assigned ${countSessions(changed)} to ${JSON.stringify(owner)}${note}`);
  };
  await withPools(target.storage, assign, { limits: target.limits });
}
