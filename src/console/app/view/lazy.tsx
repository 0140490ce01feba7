import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Said } from "./said.js";

/** A view whose code is loaded when it is first shown. */
export function lazy<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props & { readonly key?: unknown }> {
  let loaded: FunctionComponent<Props> | undefined;
  return function Lazy(props: Props) {
    // As a function, the view itself would be called for the first state.
    const [, setView] = useState(() => loaded);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded !== undefined || hasFailed) return;
      load().then(
        (view) => {
          loaded = view;
          setView(() => view);
        },
        () => setFailed(true),
      );
    }, [hasFailed]);
    const View = loaded;
    if (View !== undefined) return <View {...props} />;
    return <main class="home">{hasFailed ? <NotLoaded /> : <Said what="loading" />}</main>;
  };
}

/** The server is down, or a newer version of it has other files. */
function NotLoaded() {
  return (
    <p class="panel-note bad" role="alert">
      This part of the page could not be loaded. The server may be down, or a new version of it.{" "}
      <button type="button" class="text-button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </p>
  );
}
