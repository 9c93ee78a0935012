/** Resolves after `ms`, or when the browser is online again; rejects when `signal` is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = new AbortController();
    const end = (settle: () => void) => {
      clearTimeout(timer);
      done.abort();
      settle();
    };
    const timer = setTimeout(() => end(resolve), ms);
    window.addEventListener("online", () => end(resolve), { signal: done.signal });
    signal.addEventListener("abort", () => end(() => reject(signal.reason)), { signal: done.signal });
    if (signal.aborted) end(() => reject(signal.reason));
  });
}
