import type { BreakerEvent } from "./authority.ts";
import type { BreakerScope } from "./scope.ts";

/** Describes a breaker in the operator's log. It names no recipient, but the domain if the breaker is a domain's. */

/** "example.com (192.0.2.1)", "example.com at microsoft365". */
function describeScope({ site, path, domain }: BreakerScope): string {
  const who = domain === "" || domain === site ? site : `${domain} at ${site}`;
  return path === "direct" ? who : `${who} (${path})`;
}

/** "90 s", "15 min", "2.5 h". */
function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}

/** @param now epoch milliseconds */
export function breakerNotice(state: "opened" | "reopened", event: BreakerEvent, now: number): string {
  const { way, openForMs, dueInMs } = event;
  const reply = event.reply.replace(/\.$/, "");
  const until = `${new Date(now + Math.max(0, dueInMs)).toISOString().slice(11, 19)} UTC`;
  if (state === "reopened")
    return `${describeScope(way)} still blocks us, for ${formatDuration(openForMs)} now: ${reply}. It is tried again at ${until}.`;
  return (
    `${describeScope(way)} blocks us: ${reply}. Nothing is asked there until ${until}; ` +
    "single requests answer unknown/sender_blocked, rows of jobs wait."
  );
}

/** @param rows called by this process; null: none of its business */
export function recoveryNotice({ way, openForMs }: BreakerEvent, rows: number | null): string {
  const released = rows === null ? "" : `; ${rows} rows of jobs that waited are asked now`;
  return `${describeScope(way)} lets us in again, after ${formatDuration(openForMs)}${released}.`;
}
