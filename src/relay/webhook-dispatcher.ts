import type { Clock, Timer } from "../core/clock.ts";
import type { Part } from "../core/lifecycle.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { shareOut } from "../services/webhooks/lanes.ts";
import type { DeliveryError } from "../services/webhooks/outcome.ts";
import { createTurns } from "../services/webhooks/turns.ts";
import type { Database } from "../store/postgres.ts";
import { stopDeliveries } from "../store/webhook-deliveries.ts";
import { type ClaimedDelivery, claimDeliveries, type Lane, nextLanes } from "../store/webhook-queue.ts";
import type { Deliver } from "./webhook-delivery.ts";

export interface DispatcherDeps {
  sql: Database;
  deliver: Deliver;
  clock: Clock;
  log: Logger;
}

const DISABLED: DeliveryError = "webhook_disabled";

/**
 * Attempts the deliveries that are due. A round asks which webhooks have any, a page of them in turn, shares its free
 * places out among those, and claims that many of each; attempts go on while the next rounds are made. Any number of
 * relays may dispatch: a claim is one's own until its lease ends, and what a killed one had claimed is then due again,
 * so a receiver may be told twice and knows by `webhook-id`.
 */
export function createWebhookDispatcher({ sql, deliver, clock, log }: DispatcherDeps): Part {
  const { dispatchEveryMs, dispatchAgainMs, lanesPerRound, inFlight } = LIMITS.webhooks;
  const lanes = createTurns();
  const teams = createTurns();
  const underWay = new Set<Promise<void>>();
  let failing = 0;
  let after = "";
  /** The round to come; null while one is made. */
  let next: { atMs: number; timer: Timer } | null = null;
  let round: Promise<void> | null = null;
  let stopping = false;

  function begin(claimed: ClaimedDelivery, ofFailing: boolean): void {
    const { lane, team_id: team } = claimed;
    lanes.begin(lane);
    teams.begin(team);
    if (ofFailing) failing += 1;
    const work = deliver(claimed)
      .catch((error) =>
        log.warn({ err: error, delivery: claimed.id }, "a delivery could not be written down"),
      )
      .finally(() => {
        lanes.end(lane);
        teams.end(team);
        if (ofFailing) failing -= 1;
        underWay.delete(work);
        if (next !== null) schedule(dispatchAgainMs);
      });
    underWay.add(work);
  }

  async function stopDisabled(found: readonly Lane[]): Promise<void> {
    for (const { lane, disabled } of found) if (disabled) await stopDeliveries(sql, lane, DISABLED);
  }

  async function dispatch(): Promise<void> {
    if (underWay.size >= inFlight) return;
    const found = await nextLanes(sql, after, lanesPerRound);
    after = found.length < lanesPerRound ? "" : (found.at(-1)?.lane ?? "");
    await stopDisabled(found);
    const shares = shareOut(found, { lanes, teams, total: underWay.size, failing });
    if (shares.length === 0 || stopping) return;
    const ofFailing = new Set(shares.filter((share) => share.failing).map(({ lane }) => lane));
    for (const claimed of await claimDeliveries(sql, shares)) begin(claimed, ofFailing.has(claimed.lane));
  }

  async function makeRound(): Promise<void> {
    let pauseMs: number = dispatchEveryMs;
    try {
      await dispatch();
    } catch (error) {
      log.warn({ err: error }, "due webhook deliveries could not be claimed");
      pauseMs = LIMITS.relay.everyMs;
    }
    round = null;
    if (!stopping) schedule(pauseMs);
  }

  /** Has a round made in `delayMs`, or earlier if one is to be made earlier anyway. */
  function schedule(delayMs: number): void {
    const atMs = clock.monotonic() + delayMs;
    if (next !== null && next.atMs <= atMs) return;
    next?.timer.cancel();
    const timer = clock.after(delayMs, () => {
      next = null;
      round = makeRound();
    });
    next = { atMs, timer };
  }

  return {
    name: "webhook deliveries",
    start: () => schedule(dispatchEveryMs),
    async drain() {
      stopping = true;
      next?.timer.cancel();
      next = null;
      await round;
      await Promise.all(underWay);
    },
  };
}
