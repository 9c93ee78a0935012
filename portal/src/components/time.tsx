import { createStore } from "../store.ts";

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const UTC = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
const KEY = "rcpt times in UTC";

/** Whether this browser shows times in UTC, as its person wants it. */
export const timesInUtc = createStore(localStorage.getItem(KEY) !== null);

/** Sets it for later visits too. */
export function showTimesInUtc(isWanted: boolean): void {
  if (isWanted) localStorage.setItem(KEY, "1");
  else localStorage.removeItem(KEY);
  timesInUtc.set(isWanted);
}

/** The reader's own time zone, such as Europe/Berlin. */
export const OWN_ZONE = LOCAL.resolvedOptions().timeZone;

/** An instant in the reader's own time, or in UTC (page Settings); the other one on hover. */
export function Time({ at }: { at: string }) {
  const date = new Date(at);
  const [local, utc] = [LOCAL.format(date), `${UTC.format(date)} UTC`];
  const isUtc = timesInUtc.use();
  return (
    <time dateTime={at} title={isUtc ? local : utc}>
      {isUtc ? utc : local}
    </time>
  );
}
