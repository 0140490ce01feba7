/**
 * Makes a function that remembers the last result until the event loop's next iteration. All watchers of a session get
 * the same event within one iteration. So it is converted once for all of them, and nothing stays in memory afterwards.
 */
export function sharingLast<From extends object, To>(convert: (from: From) => To): (from: From) => To {
  let last: { readonly from: From; readonly to: To } | undefined;
  const forget = () => {
    last = undefined;
  };
  return (from) => {
    if (last?.from === from) return last.to;
    if (last === undefined) setImmediate(forget);
    last = { from, to: convert(from) };
    return last.to;
  };
}
