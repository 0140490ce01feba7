import { RefreshCw } from "lucide";
import { useEffect, useMemo } from "preact/hooks";
import { withoutPiles } from "../../../../parts/piles.js";
import { apiKey } from "../../api/http.js";
import type { Session } from "../../api/types.js";
import { titleOf } from "../../state/actions.js";
import { linkTo, sessionLink } from "../../state/route.js";
import { listReads, sessionById } from "../../state/session-list.js";
import { ALL, filterOf, isSize, MAX_LIVE, type Order, SessionTable, type Size } from "../../state/session-table.js";
import { compact, costs, MODEL_TIME, MODEL_TIME_MEANS, milliseconds, tokensOf } from "../../state/usage-sums.js";
import { count, duration, plural, recently, whole } from "../../text/format.js";
import { IconButton } from "../icon.js";
import { LastAsked, LastFailure, LastModel, Unseen } from "../list/session-marks.js";
import { PageHead } from "../page-head.js";
import { Problem } from "../problem.js";
import { Said } from "../said.js";
import { BulkBar } from "./bulk-bar.js";
import { SessionFilters } from "./session-filters.js";

/** All sessions in a table: what they took, which model, what failed last. Begins with the query of the address. */
export function Sessions({ query }: { query: string }) {
  const table = useMemo(() => new SessionTable(), []);
  useEffect(() => {
    table.begin(table.rows.peek() === undefined ? filterOf(query) : table.filter.peek());
    return () => table.stop();
  }, [table, apiKey.value]);
  const reads = listReads.value;
  useEffect(() => {
    const rows = table.rows.peek();
    // What somebody has chosen does not move, and a long table is read again on demand.
    const isLive = rows !== undefined && rows.length <= MAX_LIVE && table.chosenCount.peek() === 0;
    if (isLive && !table.isReading.peek()) void table.read();
  }, [table, reads]);
  const rows = table.rows.value;
  const error = table.error.value;
  if (error !== undefined && rows === undefined && !isAboutFilter(error)) {
    return <Problem error={error} onRetry={() => void table.read()} />;
  }
  return (
    <main class="home wide-page">
      <PageHead title="Sessions">
        <IconButton node={RefreshCw} label="Read again" onClick={() => void table.read()} />
      </PageHead>
      <SessionFilters table={table} />
      {error !== undefined && <Said what="failed" error={error} onRetry={() => void table.read()} />}
      {error === undefined && rows === undefined && <Said what="loading" />}
      {rows?.length === 0 && <Said what="empty">No session matches.</Said>}
      {rows !== undefined && rows.length > 0 && (
        <>
          <BulkBar table={table} />
          {isSize(table.filter.value.order) && table.next.value !== "" && <OrderLimit rows={rows.length} />}
          <Rows table={table} rows={table.ordered.value ?? rows} />
        </>
      )}
      {table.next.value !== "" && (
        <button type="button" class="button" disabled={table.isReading.value} onClick={() => void table.readMore()}>
          {table.isReading.value ? "Reading…" : "More sessions"}
        </button>
      )}
    </main>
  );
}

/** Says that the service cannot order by what messages took, so that others may be before these. */
function OrderLimit({ rows }: { rows: number }) {
  return (
    <p class="panel-note">
      These are the {count(rows)} that changed last. <a href={linkTo({ view: "usage", query: "by=session" })}>Usage</a>{" "}
      orders all sessions of a time.
    </p>
  );
}

/** Whether the service refused what was typed, so that the fields must stay. */
function isAboutFilter(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === 3;
}

function Rows({ table, rows }: { table: SessionTable; rows: readonly Session[] }) {
  const isAll = table.isAllChosen.value;
  const chosen = table.chosen.value;
  const areAllShown = isAll || rows.every(({ sessionId }) => chosen.has(sessionId));
  return (
    <section class="table-scroll" aria-label="Sessions that match" tabindex={0}>
      <table class="data sessions">
        <thead>
          <tr>
            <th scope="col">
              <input
                type="checkbox"
                aria-label="Choose all that are shown"
                checked={areAllShown}
                onChange={() => table.choose(areAllShown ? [] : rows.map(({ sessionId }) => sessionId))}
              />
            </th>
            <Sortable table={table} name="Session" up="title" down="title desc" />
            <SizeColumn table={table} name="Messages" size="messages" />
            <SizeColumn table={table} name="Tokens" size="tokens" />
            <SizeColumn table={table} name="Cost" size="cost" />
            <SizeColumn table={table} name={MODEL_TIME} size="duration" title={MODEL_TIME_MEANS} />
            <th scope="col">Model</th>
            <Sortable table={table} name="Last change" up="update_time" down="update_time desc" />
          </tr>
        </thead>
        <tbody>
          {rows.map((session) => (
            <Row
              key={session.sessionId}
              table={table}
              session={session}
              isChosen={isAll || chosen.has(session.sessionId)}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The head of a column by which the service can order. */
function Sortable({ table, name, up, down }: { table: SessionTable; name: string; up: Order; down: Order }) {
  const { order } = table.filter.value;
  const sort = order === up ? "ascending" : order === down ? "descending" : undefined;
  const first = up === "title" ? up : down;
  const other = first === up ? down : up;
  return (
    <th scope="col" aria-sort={sort ?? "none"}>
      <button
        type="button"
        class="sort"
        onClick={() => table.begin({ ...table.filter.peek(), order: order === first ? other : first })}
      >
        {name}
        <span aria-hidden="true">{sort === "ascending" ? " ↑" : sort === "descending" ? " ↓" : ""}</span>
      </button>
    </th>
  );
}

/** The head of a column of numbers, by which the page orders. */
function SizeColumn({ table, name, size, title }: { table: SessionTable; name: string; size: Size; title?: string }) {
  const isOrder = table.filter.value.order === size;
  return (
    <th scope="col" class="number" title={title} aria-sort={isOrder ? "descending" : "none"}>
      <button
        type="button"
        class="sort"
        onClick={() => table.begin({ ...table.filter.peek(), order: isOrder ? ALL.order : size })}
      >
        {name}
        <span aria-hidden="true">{isOrder ? " ↓" : ""}</span>
      </button>
    </th>
  );
}

function Row({ table, session, isChosen }: { table: SessionTable; session: Session; isChosen: boolean }) {
  const { sessionId, labels = {}, owner, parentId, usage, inheritedUsage } = session;
  const parent = parentId ? (sessionById(parentId)?.title ?? parentId) : "";
  const tokens = usage ? tokensOf(usage) : 0;
  const took = milliseconds(usage?.duration) ?? 0;
  const calls = Number(usage?.calls ?? 0);
  const inherited = Number(inheritedUsage?.calls ?? 0) > 0 ? "; what it inherited is not counted" : "";
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <td>
        <input
          type="checkbox"
          aria-label={`Choose ${titleOf(session)}`}
          checked={isChosen}
          onChange={() => table.toggle(sessionId)}
        />
      </td>
      <td class="session-cell">
        <a href={sessionLink(sessionId)} title={sessionId}>
          {withoutPiles(titleOf(session))}
        </a>{" "}
        <Unseen session={session} />
        <LastAsked session={session} />
        <span class="item-line item-facts">
          {parent && <span class="item-parent">fork of {withoutPiles(parent)}</span>}
          {owner && (
            <button type="button" class="chip chip-action" onClick={() => filterBy(table, { owner })}>
              {withoutPiles(owner)}
            </button>
          )}
          {Object.entries(labels).map(([name, value]) => (
            <button
              key={name}
              type="button"
              class="chip chip-action"
              onClick={() => filterBy(table, { labels: `${name}=${value}` })}
            >
              {withoutPiles(value ? `${name}: ${value}` : name)}
            </button>
          ))}
        </span>
        <LastFailure session={session} />
      </td>
      <td class="number" data-name="Messages">
        {count(session.messageCount)}
      </td>
      <td class="number" data-name="Tokens" title={`${count(tokens)} tokens${inherited}`}>
        {tokens > 0 ? compact(tokens) : "–"}
      </td>
      <td class="number" data-name="Cost" title={inherited.slice(2)}>
        {costs(usage?.costs) || "–"}
      </td>
      <td
        class="number"
        data-name={MODEL_TIME}
        title={
          took > 0 ? `${plural(calls, "call")} of models, ${duration(took / calls)} each on average${inherited}` : ""
        }
      >
        {took > 0 ? duration(took) : "–"}
      </td>
      <td class="model-cell" data-name="Model">
        <LastModel session={session} />
      </td>
      <td data-name="Last change">
        <time dateTime={session.updateTime} title={whole(session.updateTime)}>
          {recently(session.updateTime)}
        </time>
      </td>
    </tr>
  );
}

function filterBy(table: SessionTable, change: { owner?: string; labels?: string }): void {
  table.begin({ ...table.filter.peek(), ...change });
}
