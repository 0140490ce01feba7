import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/http.js";
import { OperationBox, Paragraphs, SchemaBox } from "./boxes.js";
import { type OpenApi, operationsOf } from "./openapi.js";

/** The description of the REST API, by service. */
function Docs() {
  const [api, setApi] = useState<OpenApi | undefined>(undefined);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    call<OpenApi>("/openapi.json").then(setApi, () => setFailed(true));
  }, []);
  useEffect(() => {
    if (api === undefined) return;
    openTarget();
    addEventListener("hashchange", openTarget);
    return () => removeEventListener("hashchange", openTarget);
  }, [api]);
  if (hasFailed) return <p>The description cannot be read</p>;
  if (api === undefined) return <p class="muted">Loading…</p>;
  const operations = operationsOf(api);
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const described = new Map(api.tags?.map(({ name, description }) => [name, description]));
  return (
    <>
      <h1>{`${api.info.title} ${api.info.version}`}</h1>
      <Paragraphs text={api.info.description} />
      {tags.map((tag) => (
        <section key={tag}>
          <h2 id={tag}>{tag}</h2>
          <Paragraphs text={described.get(tag)} />
          {operations
            .filter((operation) => operation.tag === tag)
            .map((operation) => (
              <OperationBox key={`${operation.method} ${operation.path}`} operation={operation} />
            ))}
        </section>
      ))}
      <h2>Schemas</h2>
      {Object.entries(api.components?.schemas ?? {}).map(([name, schema]) => (
        <SchemaBox key={name} name={name} schema={schema} />
      ))}
    </>
  );
}

/** A link to a schema opens it. */
function openTarget(): void {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (found instanceof HTMLDetailsElement) found.open = true;
  found?.scrollIntoView();
}

render(<Docs />, document.getElementById("view") as HTMLElement);
