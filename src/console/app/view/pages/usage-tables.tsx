import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { withoutPiles } from "../../../../parts/piles.js";
import { getSession } from "../../api/calls.js";
import type { UsageRow, UsageSums } from "../../api/types.js";
import { titleOf } from "../../state/actions.js";
import { queryFrom } from "../../state/filter-texts.js";
import { linkTo, sessionLink } from "../../state/route.js";
import { sessionById } from "../../state/session-list.js";
import { modelOf, sumsBy } from "../../state/usage-days.js";
import type { Report, UsageFilter, UsageReport } from "../../state/usage-report.js";
import { costs, MODEL_TIME, MODEL_TIME_MEANS, milliseconds } from "../../state/usage-sums.js";
import { count, dayName, duration } from "../../text/format.js";
import { Said } from "../said.js";
import { useIsCut } from "../use-is-cut.js";

/** How many rows are shown before the reader asks for more. */
const SHOWN = 20;

interface Column<Row> {
  readonly name: string;
  /** What the numbers mean, where the name is too short to say it. */
  readonly title?: string;
  readonly text: (row: Row) => string;
  /** What the column is ordered by, the largest first. */
  readonly size: (row: Row) => number;
}

interface TableProps<Row> {
  readonly title: string;
  /** What the first column holds. */
  readonly what: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly nameOf: (row: Row) => ComponentChildren;
  /** The column that orders the rows at first; as they come if there is none. */
  readonly first?: string;
  readonly children?: ComponentChildren;
}

/** A table that is ordered by any of its columns of numbers. */
function NumberTable<Row>(props: TableProps<Row>) {
  const { title, what, rows, columns, keyOf, nameOf, first, children } = props;
  const [by, setBy] = useState(first);
  const box = useRef<HTMLDivElement>(null);
  const isCut = useIsCut(box);
  const [shown, setShown] = useState(SHOWN);
  const column = columns.find(({ name }) => name === by);
  const ordered = column ? [...rows].sort((one, other) => column.size(other) - column.size(one)) : rows;
  return (
    <section class="numbers" aria-label={title}>
      <h2>{title}</h2>
      {children}
      <div
        class={`table-scroll ${isCut ? "is-cut" : ""}`}
        ref={box}
        tabindex={0}
        role="group"
        aria-label={`Table: ${title}`}
      >
        <table class="data">
          <thead>
            <tr>
              <th scope="col">{what}</th>
              {columns.map(({ name, title }) => (
                <th key={name} scope="col" class="number" title={title} aria-sort={name === by ? "descending" : "none"}>
                  <button type="button" class="sort" onClick={() => setBy(name === by ? undefined : name)}>
                    {name}
                    <span aria-hidden="true">{name === by ? " ↓" : ""}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {ordered.slice(0, shown).map((row) => (
              <tr key={keyOf(row)}>
                <th scope="row">{nameOf(row)}</th>
                {columns.map(({ name, text }) => (
                  <td key={name} class="number">
                    {text(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown < rows.length && (
        <button type="button" class="fold" onClick={() => setShown(shown + 5 * SHOWN)}>
          {count(rows.length - shown)} more
        </button>
      )}
    </section>
  );
}

const SUMS: readonly Column<UsageSums>[] = [
  { name: "Cost", text: (row) => costs(row.costs) || "–", size: (row) => Number(row.costs?.[0]?.amount ?? 0) },
  { name: "Calls", text: (row) => count(row.calls), size: (row) => Number(row.calls ?? 0) },
  { name: "Tokens read", text: (row) => count(row.inputTokens), size: (row) => Number(row.inputTokens ?? 0) },
  { name: "Tokens written", text: (row) => count(row.outputTokens), size: (row) => Number(row.outputTokens ?? 0) },
];

const TIMES: readonly Column<UsageRow>[] = [
  timeColumn("Half within", "durationP50", "The time in which half of the calls of models ended"),
  timeColumn("95 % within", "durationP95", "The time in which 95 of 100 calls of models ended"),
];
const TOTAL_TIME: Column<UsageSums> = timeColumn(MODEL_TIME, "duration", MODEL_TIME_MEANS);

function timeColumn<Name extends "duration" | "durationP50" | "durationP95">(
  name: string,
  field: Name,
  title: string,
): Column<{ readonly [Field in Name]?: string }> {
  const ms = (row: { readonly [Field in Name]?: string }) => milliseconds(row[field]) ?? 0;
  return { name, title, text: (row) => (ms(row) > 0 ? duration(ms(row)) : "–"), size: ms };
}

export function DaysTable({ rows }: { rows: readonly UsageRow[] }) {
  return (
    <NumberTable
      title="By day"
      what="Day"
      rows={[...rows].reverse()}
      columns={[...SUMS, ...TIMES]}
      keyOf={({ day = "" }) => day}
      nameOf={({ day = "" }) => dayName(day)}
    />
  );
}

export function ModelsTable({ rows }: { rows: readonly UsageRow[] }) {
  const models = [...sumsBy(rows, modelOf)].map(([name, sums]) => ({ name, ...sums }));
  return (
    <NumberTable
      title="By model"
      what="Model"
      rows={models}
      columns={[...SUMS, TOTAL_TIME]}
      keyOf={({ name }) => name}
      nameOf={({ name }) => withoutPiles(name)}
      first="Cost"
    />
  );
}

export function ToolsTable({ rows }: { rows: readonly UsageRow[] }) {
  const failed = ({ failedCalls }: UsageRow) => Number(failedCalls ?? 0);
  const share = (row: UsageRow) => failed(row) / Math.max(1, Number(row.calls ?? 0));
  return (
    <NumberTable
      title="Tools, those that fail most first"
      what="Tool"
      rows={rows}
      columns={[
        { name: "Failed", text: (row) => count(failed(row)), size: failed },
        { name: "Calls", text: (row) => count(row.calls), size: (row) => Number(row.calls ?? 0) },
        { name: "Share that fails", text: (row) => `${(100 * share(row)).toFixed(1)} %`, size: share },
      ]}
      keyOf={({ tool = "" }) => tool}
      nameOf={({ tool = "" }) => withoutPiles(tool) || "unnamed"}
      first="Failed"
    />
  );
}

const GROUPS = [
  ["session", "Session"],
  ["owner", "Owner"],
  ["provider", "Provider"],
] as const;

/** A table by session, owner, provider or a label. */
export function GroupsTable(props: { report: UsageReport; filter: UsageFilter; groups: Report | undefined }) {
  const { report, filter, groups } = props;
  const labelKey = filter.by.startsWith("label:") ? filter.by.slice("label:".length) : undefined;
  const [key, setKey] = useState(labelKey ?? "");
  const what = GROUPS.find(([by]) => by === filter.by)?.[1] ?? `Label ${labelKey}`;
  const chooser = (
    <form
      class="group-choice"
      onSubmit={(event) => {
        event.preventDefault();
        if (key.trim() !== "") report.begin({ ...filter, by: `label:${key.trim()}` });
      }}
    >
      {GROUPS.map(([by, label]) => (
        <button
          key={by}
          type="button"
          class="chip chip-action"
          aria-pressed={filter.by === by}
          onClick={() => report.begin({ ...filter, by })}
        >
          {label}
        </button>
      ))}
      <label class="group-label">
        Label{" "}
        <input
          class="field"
          placeholder="key"
          autocomplete="off"
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
      </label>
      <button type="submit" class="chip chip-action" aria-pressed={labelKey !== undefined}>
        By this label
      </button>
    </form>
  );
  if (groups === undefined) {
    return (
      <section class="numbers" aria-label={`By ${what.toLowerCase()}`}>
        <h2>By {what.toLowerCase()}</h2>
        {chooser}
        {report.error.value === undefined && <Said what="loading">Adding up…</Said>}
      </section>
    );
  }
  return (
    <NumberTable
      key={filter.by}
      title={`By ${what.toLowerCase()}`}
      what={what}
      rows={groups.rows}
      columns={[...SUMS, ...TIMES, TOTAL_TIME]}
      keyOf={(row) => row.sessionId ?? row.owner ?? row.provider ?? row.labels?.[labelKey ?? ""] ?? ""}
      nameOf={(row) => <GroupName row={row} labelKey={labelKey} filter={filter} />}
      first="Cost"
    >
      {chooser}
      {groups.isCut && <p class="panel-note">More groups than are listed here.</p>}
    </NumberTable>
  );
}

function GroupName(props: { row: UsageRow; labelKey: string | undefined; filter: UsageFilter }) {
  const { row, labelKey, filter } = props;
  if (row.sessionId !== undefined) return <SessionName sessionId={row.sessionId} />;
  if (labelKey !== undefined) return <>{withoutPiles(row.labels?.[labelKey] ?? "") || "without it"}</>;
  const name = withoutPiles(row.owner ?? row.provider ?? "") || "nobody";
  if (row.owner === undefined) return <>{name}</>;
  const { since, until } = filter;
  const query = queryFrom({ role: "user", owner: row.owner || '""', since, until });
  return (
    <a href={linkTo({ view: "search", query })} title="What users asked in these sessions">
      {name}
    </a>
  );
}

/** The title of a session, read when the list does not have it. */
function SessionName({ sessionId }: { sessionId: string }) {
  const listed = sessionById(sessionId);
  const [title, setTitle] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (listed !== undefined) return;
    const left = new AbortController();
    getSession(sessionId, left.signal).then(
      (session) => setTitle(titleOf(session)),
      () => undefined,
    );
    return () => left.abort();
  }, [sessionId, listed === undefined]);
  return (
    <a href={sessionLink(sessionId)} title={sessionId}>
      {withoutPiles(listed ? titleOf(listed) : (title ?? sessionId))}
    </a>
  );
}
