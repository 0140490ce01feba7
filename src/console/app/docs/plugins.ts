import type { Immutable, OperationProps, Plugin, System } from "swagger-ui-dist/swagger-ui-es-bundle.js";

/** The filter looks for its words in the paths, names and descriptions of operations, not only in paths. */
export function searchAll(): Plugin {
  return { fn: { opsFilter: (tags: Immutable, phrase: string) => operationsWith(tags, phrase) } };
}

function operationsWith(tags: Immutable, phrase: string): Immutable {
  const words = phrase.toLowerCase().split(/\s+/);
  const matches = (operation: Immutable): boolean => {
    const about = operation.get("operation") as Immutable;
    const values = [operation.get("method"), operation.get("path"), about.get("operationId"), about.get("description")];
    const text = values.join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return tags
    .map((tag) => tag.set("operations", (tag.get("operations") as Immutable).filter(matches)))
    .filter((tag) => (tag.get("operations") as Immutable).size > 0);
}

/** Shows the curl line of each operation before anything is sent, with the values that are in the form. */
export function curlLines(): Plugin {
  return {
    components: { CurlLine },
    wrapComponents: {
      execute:
        (Execute, { React: { createElement, Fragment }, getComponent }) =>
        (props) => {
          const { path, method, operation } = props;
          const line = createElement(getComponent<OperationProps>("CurlLine", true), { path, method, operation });
          // A form cannot wait for the end of a stream.
          return createElement(Fragment, null, isStream(path) ? null : createElement(Execute, props), line);
        },
    },
  };
}

/** As a container of Swagger UI, it renders again whenever the form changes. */
function CurlLine({ path, method, operation, ...system }: OperationProps & System): object | null {
  const { React, Im, getComponent } = system;
  const request = requestOf(system, path, method, operation);
  if (request === undefined) return null;
  return React.createElement(getComponent<{ request: Immutable }>("curl", true), { request: Im.fromJS(request) });
}

/** Returns the request that "Execute" would send, or undefined while a required value is missing. */
function requestOf(system: System, path: string, method: string, operation: Immutable): object | undefined {
  const { fn, specSelectors, oas3Selectors, authSelectors } = system;
  const accepted = oas3Selectors.responseContentType(path, method);
  try {
    return fn.buildRequest({
      spec: specSelectors.specJsonWithResolvedSubtrees().toJS(),
      contextUrl: location.href,
      pathName: path,
      method,
      operationId: operation.get("operationId"),
      parameters: specSelectors.parameterValues([path, method]).toJS(),
      requestBody: oas3Selectors.requestBodyValue(path, method),
      requestContentType: oas3Selectors.requestContentType(path, method),
      responseContentType: accepted ?? "application/json",
      securities: {
        authorized: authSelectors.authorized()?.toJS(),
        definitions: specSelectors.securityDefinitions()?.toJS(),
        specSecurity: specSelectors.security()?.toJS(),
      },
    });
  } catch {
    return undefined;
  }
}

function isStream(path: string): boolean {
  return path.endsWith(":watch");
}
