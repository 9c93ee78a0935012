import { randomUUID } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Metrics } from "../../core/metrics.ts";
import { afterTurns } from "../../core/stalls.ts";
import type { LeaseAsk, LeaseGrant, QuotaLedger } from "../../store/quota-ledger.ts";
import { Lease } from "./lease.ts";
import type { Settling } from "./settling.ts";
import type { TeamQuota } from "./team.ts";

/** The way of units from the ledger into the hands of teams. Of a team one question by itself and one with others' at a time. */
export interface Fetching {
  /** A lease for the team, or its refusal. Rejects when the ledger fails or is silent. */
  fetch(team: TeamQuota): Promise<void>;
  /**
   * The same for several in one statement; rejects for all of them.
   * @returns those that the ledger passed over
   */
  fetchTogether(teams: readonly TeamQuota[]): Promise<TeamQuota[]>;
  /** `work`, or a rejection after LIMITS.quota.ledgerTimeoutMs; the work goes on. */
  bounded<T>(work: Promise<T>): Promise<T>;
  /** All that is asked from now on is given back at once. Resolves when nothing is unanswered, also what nobody waits for any more. */
  settled(): Promise<void>;
}

export interface FetchingDeps {
  ledger: Pick<QuotaLedger, "lease" | "leaseTogether">;
  clock: Clock;
  metrics: Pick<Metrics, "quotaLeases">;
  settling: Pick<Settling, "orphan">;
}

/** One question, and what it rests on. */
interface Asking {
  team: TeamQuota;
  id: string;
  ask: LeaseAsk;
  sentAtMs: number;
  held: readonly Lease[];
}

export function createFetching({ ledger, clock, metrics, settling }: FetchingDeps): Fetching {
  const unanswered = new Set<Promise<unknown>>();
  const leasesBy = {
    granted: metrics.quotaLeases.labels("granted"),
    refused: metrics.quotaLeases.labels("refused"),
    failed: metrics.quotaLeases.labels("failed"),
  };
  let ending = false;

  function bounded<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const expiry = afterTurns(clock, LIMITS.quota.ledgerTimeoutMs, () =>
        reject(new Error("the quota ledger is silent")),
      );
      work.then(resolve, reject).finally(() => expiry.cancel());
    });
  }

  function begin(team: TeamQuota): Asking {
    const sentAtMs = clock.monotonic();
    return { team, id: randomUUID(), ask: team.nextAsk(sentAtMs), sentAtMs, held: [...team.leases] };
  }

  function take({ team, id, ask, sentAtMs, held }: Asking, grant: LeaseGrant, isLate: boolean): void {
    const lease = grant.granted > 0 ? new Lease(id, grant, sentAtMs) : null;
    // Too late for those who waited, or granted by a limit that is no longer in force: back with it.
    if (lease && (isLate || ending || ask.limit > team.limit)) lease.retired = true;
    leasesBy[lease ? "granted" : "refused"].inc();
    team.granted(lease, grant, { sentAtMs, held, limit: ask.limit }, clock.monotonic());
  }

  /** Hands over what `asked` brings. @returns teams of those it says nothing of */
  async function answer(
    askings: readonly Asking[],
    asked: Promise<ReadonlyMap<string, LeaseGrant>>,
  ): Promise<TeamQuota[]> {
    let isLate = false;
    const all = asked.then((grants) => {
      const passedOver: TeamQuota[] = [];
      for (const asking of askings) {
        const grant = grants.get(asking.id);
        if (grant !== undefined) {
          take(asking, grant, isLate);
          continue;
        }
        asking.team.unasked();
        passedOver.push(asking.team);
      }
      return passedOver;
    });
    unanswered.add(all);
    for (const { team } of askings) team.unanswered += 1;
    const heard = () => {
      unanswered.delete(all);
      for (const { team } of askings) team.unanswered -= 1;
    };
    all.then(heard, heard);
    try {
      return await bounded(all);
    } catch (error) {
      isLate = true;
      leasesBy.failed.inc(askings.length);
      // They may have been granted without our hearing of it.
      all.catch(() => {
        for (const { team, id, sentAtMs } of askings) team.leases.push(settling.orphan(id, sentAtMs));
      });
      throw error;
    }
  }

  return {
    bounded,
    async fetch(team) {
      const asking = begin(team);
      const { id, ask } = asking;
      await answer(
        [asking],
        ledger.lease(id, team.id, ask).then((grant) => new Map([[id, grant]])),
      );
    },
    fetchTogether(teams) {
      const askings = teams.map(begin);
      const asks = askings.map(({ id, team, ask }) => ({ id, teamId: team.id, ...ask }));
      return answer(askings, ledger.leaseTogether(asks));
    },
    async settled() {
      ending = true;
      while (unanswered.size > 0) await Promise.allSettled(unanswered);
    },
  };
}
