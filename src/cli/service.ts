import { type Client, type ClientOptions, createClient } from "../../packages/client/src/index.ts";
import { loadServiceAddress } from "../config/config.ts";
import { UsageError } from "../operator/command.ts";
import { readProfile } from "./account/profile.ts";

/** The address of a service as it is compared and stored. @throws UsageError where the text is not such an address */
export function serviceUrl(text: string, source = "RCPT_URL"): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`${source} is not a URL of a service, such as https://rcpt.example.com`);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError(`${source} must be a URL without a user, a password, "?" and "#"`);
  return url.href.replace(/\/+$/, "");
}

/**
 * The service and credential of the environment, else of `rcpt login`. A stored key is sent to its own service only.
 * @throws UsageError
 */
function serviceAddress(): { url: string | null; key: string | null } {
  const given = loadServiceAddress();
  const url = given.url === null ? null : serviceUrl(given.url);
  if (url !== null && given.key !== null) return { url, key: given.key };
  const stored = readProfile();
  if (stored === null || (url !== null && url !== stored.url)) return { url, key: given.key };
  return { url: stored.url, key: given.key ?? stored.key };
}

/** The service's URL. @throws UsageError where nothing names it */
export function urlInUse(): string {
  const { url } = serviceAddress();
  if (url !== null) return url;
  throw new UsageError("no service is named: rcpt login, or RCPT_URL (docs/cli.md)");
}

/** A client of the service in use. @throws UsageError where no service or key is named */
export function connect(options: Pick<ClientOptions, "pace" | "maxAttempts"> = {}): Client {
  const url = urlInUse();
  const { key } = serviceAddress();
  if (key === null)
    throw new UsageError(`no key for ${url}: rcpt login ${url}, or RCPT_API_KEY (docs/cli.md)`);
  return createClient({ ...options, url, key });
}

/** While `work` runs, Ctrl-C aborts its signal instead of ending the process; a second Ctrl-C ends it. */
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
