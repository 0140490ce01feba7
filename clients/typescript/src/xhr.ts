/** What is used of a browser's XMLHttpRequest. */
interface Xhr {
  responseType: string;
  readonly response: ArrayBuffer;
  readonly status: number;
  readonly upload: { onprogress: ((event: { readonly loaded: number }) => void) | undefined };
  onload: (() => void) | undefined;
  onerror: (() => void) | undefined;
  onabort: (() => void) | undefined;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: unknown): void;
  abort(): void;
}

/** Whether this is a browser, in a page or a worker. */
export function hasXhr(): boolean {
  return "XMLHttpRequest" in globalThis;
}

/** A fetch that says how much of the body was sent, which a browser's fetch does not. */
export function sendingByXhr(report: ((sentBytes: number) => void) | undefined): typeof globalThis.fetch {
  return (url, { method = "GET", headers, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      const request = new (globalThis as unknown as { XMLHttpRequest: new () => Xhr }).XMLHttpRequest();
      const abort = () => request.abort();
      const settle = (end: () => void) => () => {
        signal?.removeEventListener("abort", abort);
        end();
      };
      request.open(method, `${url}`);
      request.responseType = "arraybuffer";
      for (const [name, value] of new Headers(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded }) => report?.(loaded);
      request.onload = settle(() => {
        const lines = request.getAllResponseHeaders().trim().split("\r\n");
        const fields = lines.map((line) => [
          line.slice(0, line.indexOf(":")),
          line.slice(line.indexOf(":") + 1).trim(),
        ]);
        resolve(new Response(request.response, { status: request.status, headers: fields as [string, string][] }));
      });
      // As fetch does.
      request.onerror = settle(() => reject(new TypeError("Failed to fetch")));
      request.onabort = settle(() => reject(signal?.reason));
      if (signal?.aborted === true) return reject(signal.reason);
      signal?.addEventListener("abort", abort);
      request.send(body);
    });
}
