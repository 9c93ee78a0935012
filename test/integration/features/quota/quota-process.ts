import assert from "node:assert/strict";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createQuota, type Quota, type UnitReservation } from "../../../../src/features/quota/quota.ts";
import { createQuotaLedger, type QuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import type { Database } from "../../../../src/stores/postgres/postgres.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/store.ts";

export interface Process {
  quota: Quota;
  clock: FakeClock;
  /** Number of calls to the ledger. */
  calls(): number;
  /** Resolves when the ledger has answered everything this process asked. */
  settled(): Promise<void>;
}

/** The ledger, with a count of the calls it has not answered. */
function countCalls(ledger: QuotaLedger): { ledger: QuotaLedger } & Pick<Process, "calls" | "settled"> {
  let pending = 0;
  let calls = 0;
  const counted = new Proxy(ledger, {
    get(target, name: keyof QuotaLedger) {
      return (...args: never[]) => {
        pending += 1;
        calls += 1;
        const call = target[name] as (...args: never[]) => Promise<unknown>;
        return call(...args).finally(() => {
          pending -= 1;
        });
      };
    },
  });
  return {
    ledger: counted,
    calls: () => calls,
    async settled() {
      do await new Promise((resolve) => setTimeout(resolve, 1));
      while (pending > 0);
    },
  };
}

/**
 * A process as far as quota goes. Its clock stands still; nothing is flushed unless the test moves it, nor then when it
 * is not `ticking`.
 */
export function startQuotaProcess(db: Database, ticking: boolean): Process {
  const clock = createFakeClock();
  const { ledger, calls, settled } = countCalls(createQuotaLedger(db));
  const quota = createQuota({ ledger, clock, log: silentLog, metrics: createMetrics() });
  if (ticking) quota.start();
  return { quota, clock, calls, settled };
}

export async function reserve(process: Process, actor: Actor): Promise<UnitReservation | AppError> {
  try {
    return await process.quota.reserve(actor);
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    return error;
  }
}

export function granted(outcomes: (UnitReservation | AppError)[]): UnitReservation[] {
  return outcomes.filter((outcome): outcome is UnitReservation => !(outcome instanceof AppError));
}
