/** After this long without progress the connection counts as dead. */
const SILENCE_MS = 60_000;

interface PutAnswer {
  /** HTTP status; 0: there was no answer. */
  status: number;
  text: string;
}

interface PutOptions {
  headers?: Readonly<Record<string, string>>;
  onProgress(sentBytes: number): void;
  signal: AbortSignal;
}

/** Sends bytes; `fetch` would not report progress. Rejects only when `signal` is aborted. */
export function put(url: string, body: Blob, options: PutOptions): Promise<PutAnswer> {
  const { headers = {}, onProgress, signal } = options;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const over = new AbortController();
    let timer = 0;
    const end = (settle: () => void) => {
      clearTimeout(timer);
      over.abort();
      settle();
    };
    const listen = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => request.abort(), SILENCE_MS);
    };
    request.open("PUT", url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", ({ loaded }) => {
      listen();
      onProgress(loaded);
    });
    request.addEventListener("load", () =>
      end(() => resolve({ status: request.status, text: request.responseText })),
    );
    const unanswered = () => end(() => resolve({ status: 0, text: "" }));
    request.addEventListener("error", unanswered);
    request.addEventListener("abort", () =>
      signal.aborted ? end(() => reject(signal.reason)) : unanswered(),
    );
    signal.addEventListener("abort", () => request.abort(), { signal: over.signal });
    if (signal.aborted) return end(() => reject(signal.reason));
    listen();
    request.send(body);
  });
}
