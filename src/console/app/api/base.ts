/** Where the server is. A proxy may have put it below a path of its own, so all addresses are relative to this one. */
export function baseAddress(): URL {
  return new URL(".", document.baseURI);
}

/** A name for what the browser stores, which servers at other paths of the same host do not share. */
export function storageKey(name: string): string {
  const { pathname } = baseAddress();
  return pathname === "/" ? name : `${name} ${pathname}`;
}
