import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { type DueReread, finishReread, leaseReread, postponeReread } from "./billing-rereads.ts";
import type { BillingProvider } from "./provider.ts";
import { type SettleDeps, settleTeam } from "./settle-team.ts";
import { isOurs, mergeRead, subscriptionStandingOf } from "./state.ts";
import {
  findCustomerBilling,
  findOrphan,
  findSubscription,
  listTeamSubscriptions,
  lockTeamBilling,
  type Orphan,
  readBillingRevision,
  type TeamBilling,
  writeSubscription,
} from "./subscription-sql.ts";

export interface BillingRereads {
  /**
   * Reads due customers from Stripe and applies the result: writes their state, and cancels the subscriptions of deleted
   * teams, no others. Failed ones become due again later, for as long as it takes. Any number of processes may run it at
   * once.
   */
  processDue(isStopping: () => boolean): Promise<void>;
}

export interface BillingRereadDeps extends SettleDeps {
  sql: Database;
  publisher: ChangePublisher;
  provider: BillingProvider;
  clock: Clock;
}

/** `overtaken`: an event came during the read, so the result may be older. */
type Outcome = "done" | "overtaken";

export function createBillingRereads(deps: BillingRereadDeps): BillingRereads {
  const { sql, log } = deps;

  async function perform(customerId: string): Promise<Outcome> {
    const team = await findCustomerBilling(sql, customerId);
    if (team !== null) return readTeam(deps, team, customerId);
    const orphan = await findOrphan(sql, customerId);
    if (orphan !== null) await cancelOrphan(deps, orphan, customerId);
    return "done";
  }

  /** False: Stripe or the database failed, and the next one would fail too. */
  async function work(due: DueReread): Promise<boolean> {
    try {
      if ((await perform(due.customerId)) === "overtaken") await postponeReread(sql, due, 0);
      else await finishReread(sql, due);
      return true;
    } catch (error) {
      log.warn(
        { err: error, customer: due.customerId, attempts: due.attempts },
        "cannot read a customer from Stripe",
      );
      await postponeReread(sql, due, delayOf(due.attempts));
      return false;
    }
  }

  async function worker(isStopping: () => boolean): Promise<void> {
    for (let turn = 0; turn < LIMITS.billing.rereadsPerLane && !isStopping(); turn++) {
      const due = await leaseReread(sql);
      if (due === null || !(await work(due))) return;
    }
  }

  return {
    async processDue(isStopping) {
      const lanes = Array.from({ length: LIMITS.billing.rereadLanes }, () => worker(isStopping));
      const failed = (await Promise.allSettled(lanes)).find((one) => one.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

/** Doubles with each failure, with some jitter so that simultaneous failures do not return together. */
function delayOf(attempts: number): number {
  const { rereadFirstMs, rereadMaxMs } = LIMITS.billing;
  return Math.min(rereadFirstMs * 2 ** (attempts - 1), rereadMaxMs) * (0.75 + Math.random() / 2);
}

async function readTeam(deps: BillingRereadDeps, team: TeamBilling, customerId: string): Promise<Outcome> {
  const { sql, publisher, provider, plans, clock, log } = deps;
  const before = await readBillingRevision(sql, team.id);
  const readAt = new Date(clock.now());
  const listed = await provider.listSubscriptions(customerId);
  if (listed === null) {
    log.warn({ team: team.id, customer: customerId }, "Stripe does not know a team's customer");
    return "done";
  }
  const known = (await listTeamSubscriptions(sql, team.id)).map(({ id }) => id);
  const ours = listed.filter((one) => isOurs(one, { teamId: team.id, known }, plans));
  return publisher.transact(async (tx) => {
    const locked = await lockTeamBilling(tx, team.id);
    if (
      locked === null ||
      locked.customerId !== customerId ||
      (await readBillingRevision(tx, team.id)) !== before
    )
      return "overtaken";
    for (const one of ours)
      await writeSubscription(
        tx,
        team.id,
        mergeRead(await findSubscription(tx, team.id, one.id), one, readAt, plans),
      );
    await settleTeam(tx, locked, deps);
    return "done";
  }, team.id);
}

/** Ends a deleted team's subscriptions at Stripe, unfinished ones too: its customer must not go on paying. */
async function cancelOrphan(
  { provider, plans, log }: BillingRereadDeps,
  { teamId, subscriptionId }: Orphan,
  customerId: string,
): Promise<void> {
  const known = subscriptionId === null ? [] : [subscriptionId];
  for (const { id, teamId: named } of await provider.listOpenCheckouts(customerId))
    if (named === teamId) await provider.expireCheckout(id);
  for (const one of (await provider.listSubscriptions(customerId)) ?? []) {
    if (subscriptionStandingOf(one.status) === "ended" || !isOurs(one, { teamId, known }, plans)) continue;
    log.info({ team: teamId, subscription: one.id }, "cancelling the subscription of a deleted team");
    await provider.cancelSubscription(one.id);
  }
}
