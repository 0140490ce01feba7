import { get } from "./api.js";
import { byId, element } from "./dom.js";

const METHODS = ["get", "post", "patch", "put", "delete"];

/** Renders the description of the REST API, by service. */
async function show() {
  const api = await get("/openapi.json");
  const operations = Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({ path, method, ...item[method] })),
  );
  const tags = [...new Set(operations.map(({ tags: [tag] = ["API"] }) => tag))];
  const described = new Map((api.tags ?? []).map(({ name, description }) => [name, description]));
  byId("view").replaceChildren(
    element("h1", {}, `${api.info.title} ${api.info.version}`),
    paragraphs(api.info.description),
    ...tags.flatMap((tag) => [
      element("h2", { id: tag }, tag),
      paragraphs(described.get(tag)),
      ...operations.filter(({ tags: [own] = ["API"] }) => own === tag).map(operationBox),
    ]),
    element("h2", {}, "Schemas"),
    ...Object.entries(api.components?.schemas ?? {}).map(schemaBox),
  );
}

function operationBox({ method, path, summary, description, parameters = [], requestBody, responses = {} }) {
  return element(
    "details",
    { className: "message" },
    element("summary", {}, element("code", {}, `${method.toUpperCase()} ${path}`), " ", ...withCode(summary)),
    paragraphs(description),
    ...(parameters.length === 0 ? [] : [table(["Parameter", "In", "Type", ""], parameters.map(parameterRow))]),
    ...(requestBody === undefined ? [] : [element("p", {}, "Body: ", typeOfContent(requestBody.content))]),
    table(
      ["Answer", "Type", ""],
      Object.entries(responses).map(([status, { content, description: text }]) => [
        status,
        typeOfContent(content),
        element("span", {}, ...withCode(text)),
      ]),
    ),
  );
}

function parameterRow({ name, in: place, required, schema, description }) {
  return [required ? `${name} *` : name, place, typeOf(schema), element("span", {}, ...withCode(description))];
}

function schemaBox([name, schema]) {
  const rows = Object.entries(schema.properties ?? {}).map(([field, value]) => [
    field,
    typeOf(value),
    element("span", {}, ...withCode(value.description)),
  ]);
  return element(
    "details",
    { className: "message schema", id: `schema-${name}` },
    element("summary", {}, element("code", {}, name)),
    paragraphs(schema.description),
    rows.length === 0 ? element("p", {}, typeOf(schema)) : table(["Field", "Type", ""], rows),
  );
}

function typeOfContent(content = {}) {
  const types = Object.entries(content).map(([media, { schema }]) => [media, schema]);
  return element(
    "span",
    {},
    ...types.flatMap(([media, schema], i) => [i > 0 ? ", " : "", typeOf(schema), ` (${media})`]),
  );
}

function typeOf(schema) {
  if (schema === undefined) return "";
  const { $ref, type, items, format, oneOf, anyOf, allOf } = schema;
  if ($ref !== undefined) {
    const name = $ref.split("/").at(-1);
    return element("a", { href: `#schema-${name}` }, name);
  }
  if (type === "array") return element("span", {}, "list of ", typeOf(items));
  const choices = oneOf ?? anyOf ?? allOf;
  if (choices !== undefined)
    return element("span", {}, ...choices.flatMap((choice, i) => [i > 0 ? " or " : "", typeOf(choice)]));
  return [type, format && `(${format})`].flat().filter(Boolean).join(" ") || "any";
}

function table(heads, rows) {
  const head = element("tr", {}, ...heads.map((text) => element("th", {}, text)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  return element("table", {}, head, ...body);
}

function paragraphs(text = "") {
  return element("div", {}, ...text.split(/\n\n+/).map((part) => element("p", {}, ...withCode(part))));
}

/** What stands between backticks, as code. */
function withCode(text = "") {
  return text.split("`").map((part, i) => (i % 2 === 1 ? element("code", {}, part) : part));
}

/** A link to a schema opens it. */
function openTarget() {
  const target = byId(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  if ("open" in target) target.open = true;
  target.scrollIntoView();
}

addEventListener("hashchange", openTarget);
show().then(openTarget, () => byId("view").replaceChildren(element("p", {}, "The description cannot be read")));
