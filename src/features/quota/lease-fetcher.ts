import { randomUUID } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { startStallTolerantTimer } from "../../platform/time/stall-tolerant-timer.ts";
import { Lease } from "./lease.ts";
import type { LeaseSettler } from "./lease-settler.ts";
import type { LeaseGrant, LeaseRequest, QuotaLedger } from "./quota-ledger.ts";
import type { TeamQuota } from "./team-quota.ts";

/** The way of units from the ledger into the hands of teams. Of a team one question at a time. */
export interface LeaseFetcher {
  /** A lease for the team, or its refusal. Rejects when the ledger fails or is silent. */
  fetch(team: TeamQuota): Promise<void>;
  /** `work`, or a rejection after LIMITS.quota.ledgerTimeoutMs; the work goes on. */
  bounded<T>(work: Promise<T>): Promise<T>;
  /** From now on every unit that arrives is returned at once. Resolves when no question is open, awaited or not. */
  settled(): Promise<void>;
}

export interface LeaseFetcherDeps {
  ledger: Pick<QuotaLedger, "lease">;
  clock: Clock;
  metrics: Pick<Metrics, "quotaLeases">;
  settling: Pick<LeaseSettler, "orphan">;
}

/** A request for one lease, with its context. */
interface PendingLease {
  team: TeamQuota;
  id: string;
  ask: LeaseRequest;
  sentAtMs: number;
  held: readonly Lease[];
}

class LedgerFetching implements LeaseFetcher {
  readonly #deps: LeaseFetcherDeps;
  readonly #unanswered = new Set<Promise<unknown>>();
  readonly #leasesBy: Record<"granted" | "refused" | "failed", { inc(by?: number): void }>;
  #ending = false;

  constructor(deps: LeaseFetcherDeps) {
    this.#deps = deps;
    this.#leasesBy = {
      granted: deps.metrics.quotaLeases.labels("granted"),
      refused: deps.metrics.quotaLeases.labels("refused"),
      failed: deps.metrics.quotaLeases.labels("failed"),
    };
  }

  bounded<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const expiry = startStallTolerantTimer(this.#deps.clock, LIMITS.quota.ledgerTimeoutMs, () =>
        reject(new Error("the quota ledger is silent")),
      );
      work.then(resolve, reject).finally(() => expiry.cancel());
    });
  }

  async fetch(team: TeamQuota): Promise<void> {
    const asking = this.#begin(team);
    const { id, ask, sentAtMs } = asking;
    let isLate = false;
    const taken = this.#deps.ledger
      .lease(id, team.id, ask)
      .then((grant) => this.#take(asking, grant, isLate));
    this.#unanswered.add(taken);
    team.unanswered += 1;
    const settled = () => {
      this.#unanswered.delete(taken);
      team.unanswered -= 1;
    };
    taken.then(settled, settled);
    try {
      await this.bounded(taken);
    } catch (error) {
      isLate = true;
      this.#leasesBy.failed.inc();
      // It may have been granted without our hearing of it.
      taken.catch(() => team.leases.push(this.#deps.settling.orphan(id, sentAtMs)));
      throw error;
    }
  }

  async settled(): Promise<void> {
    this.#ending = true;
    while (this.#unanswered.size > 0) await Promise.allSettled(this.#unanswered);
  }

  #begin(team: TeamQuota): PendingLease {
    const sentAtMs = this.#deps.clock.monotonic();
    return { team, id: randomUUID(), ask: team.nextAsk(sentAtMs), sentAtMs, held: [...team.leases] };
  }

  #take({ team, id, ask, sentAtMs, held }: PendingLease, grant: LeaseGrant, isLate: boolean): void {
    const lease = grant.granted > 0 ? new Lease(id, grant, sentAtMs) : null;
    // Too late for the waiting requests, or granted by a limit that is no longer in force: it is given back.
    if (lease && (isLate || this.#ending || ask.limit > team.limit)) lease.retired = true;
    this.#leasesBy[lease ? "granted" : "refused"].inc();
    team.granted(lease, grant, { sentAtMs, held, limit: ask.limit }, this.#deps.clock.monotonic());
  }
}

export function createLeaseFetcher(deps: LeaseFetcherDeps): LeaseFetcher {
  return new LedgerFetching(deps);
}
