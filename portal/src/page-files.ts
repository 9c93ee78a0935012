import { lazyRouteComponent } from "@tanstack/react-router";
import { Problem } from "./api/problem.ts";

/** Message of the last such error in this tab. */
const KEY = "rcpt missing file";

/** A file of the portal could not be loaded: there is no connection, or a newer version has replaced it. */
export class MissingFile extends Error {
  override name = "MissingFile";

  constructor(cause: unknown) {
    super("A part of the portal could not be loaded: look at your connection, or load the page again.", {
      cause,
    });
  }
}

let isMissing = false;
/** Whether a file of the portal could not be loaded, since the page was. */
export const isFileMissing = (): boolean => isMissing;

/** The same import, which fails with a MissingFile: the browser's own message is of no use to the person, and the router would load the page again for it. */
export const fromFile =
  <T>(load: () => Promise<T>): (() => Promise<T>) =>
  () =>
    load().catch((cause: unknown) => {
      isMissing = true;
      throw new MissingFile(cause);
    });

/** A page that is loaded when it is opened. @param name the component's, among what the file exports */
export const lazyPage = <T extends Record<string, unknown>, K extends keyof T & string>(
  load: () => Promise<T>,
  name: K,
) => lazyRouteComponent(fromFile(load), name);

/** Whether a MissingFile happens in this tab for the first time. Its cause names the file, which has another name in each version. */
export function isFirstTime({ cause }: Error): boolean {
  const last = sessionStorage.getItem(KEY);
  sessionStorage.setItem(KEY, String(cause));
  return last !== String(cause);
}

/** Loads the page again, unless that would end at the browser's own error page. @throws Problem when the service does not answer */
export async function reloadWhenServed(): Promise<void> {
  const { ok, status } = await fetch(location.href, { cache: "no-store" }).catch(() => {
    throw new Problem(0, null, null);
  });
  if (!ok) throw new Problem(status, null, null);
  location.reload();
  // Nothing is shown until the page is left.
  await new Promise(() => undefined);
}
