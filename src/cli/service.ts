import { type Client, createClient } from "../../packages/client/src/index.ts";
import { loadServiceAddress } from "../config/config.ts";
import { UsageError } from "../operator/command.ts";

/** A client of the service that RCPT_URL and RCPT_API_KEY name. @throws UsageError where one of them is missing or wrong */
export function connect(): Client {
  const { url, key } = loadServiceAddress();
  if (url === null || key === null)
    throw new UsageError("RCPT_URL and RCPT_API_KEY say which service and whose key (docs/cli.md)");
  try {
    return createClient({ url, key });
  } catch {
    throw new UsageError("RCPT_URL is not a URL of a service, such as https://rcpt.example.com");
  }
}

/** For as long as `work` lasts Ctrl-C aborts its signal instead of ending the process; a second one ends it. */
export async function withInterrupt<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const control = new AbortController();
  const stop = () => control.abort(new Error("interrupted"));
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  try {
    return await work(control.signal);
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  }
}
