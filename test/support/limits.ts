import { LIMITS } from "../../src/config/limits/limits.ts";

/** A test's context, or a `Closing` of a file. */
interface Closer {
  after(close: () => void): void;
}

type Limits = typeof LIMITS;
type Changes = {
  readonly [Group in keyof Limits]?: { readonly [Name in keyof Limits[Group]]?: number };
};

/**
 * Changes limits of this process until `t` closes; other test files run in it later. Threads and child processes have their
 * own. Many a limit is read once, when what it bounds is made: change it before that.
 */
export function changeLimits(t: Closer, changes: Changes): void {
  for (const [name, changed] of Object.entries(changes)) {
    const group = LIMITS[name as keyof Limits] as Record<string, unknown>;
    const before = Object.keys(changed).map((limit) => [limit, group[limit]]);
    t.after(() => void Object.assign(group, Object.fromEntries(before)));
    Object.assign(group, changed);
  }
}

/** Far longer than Postgres takes on the busiest machine. */
const LONG_MS = 60_000;

/**
 * Has the APIs that are started here from now on wait for Postgres until it answers. With their own bounds, a busy machine is
 * now and then refused with 503, and exact tallies are off. Not for tests in which Postgres is away: these bounds are what
 * ends their requests.
 */
export function waitForPostgres(t: Closer): void {
  changeLimits(t, {
    postgres: {
      ...{ connectTimeoutMs: LONG_MS, statementTimeoutMs: LONG_MS },
      ...{ teamWaitMs: LONG_MS, readWaitMs: LONG_MS },
    },
    keys: { lookupTimeoutMs: LONG_MS },
    quota: {
      ...{ ledgerTimeoutMs: LONG_MS, waitMs: LONG_MS },
      // A lease is used from its request on, and must be usable when its answer comes late.
      ...{ leaseUseMs: 2 * LONG_MS, leaseTtlMs: 3 * LONG_MS },
    },
    idempotency: { claimTimeoutMs: LONG_MS },
  });
}
