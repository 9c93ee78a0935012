import { LIMITS } from "../../../config/limits/limits.ts";
import type { LifecyclePart } from "../../../platform/lifecycle.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock, Timer } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { shareKey } from "../../identity/actor.ts";
import { stopDeliveries } from "../webhook-deliveries.ts";
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveryQueue,
  type LaneRestriction,
  listDeliveryQueues,
} from "../webhook-queue.ts";
import { createAttemptCounts } from "./attempt-counts.ts";
import { shareSlots } from "./fair-share.ts";
import type { DeliveryError } from "./outcome.ts";
import type { Deliver } from "./webhook-delivery.ts";

export interface DispatcherDeps {
  sql: Database;
  deliver: Deliver;
  clock: Clock;
  log: Logger;
}

const DISABLED: DeliveryError = "webhook_disabled";

const { dispatchEveryMs, dispatchAgainMs, lanesPerRound, inFlight } = LIMITS.webhooks;

/**
 * Attempts due deliveries. A round reads a page of webhooks with due deliveries, in turn, distributes its free slots among
 * these, and claims that many of each; attempts continue during the next rounds. Any number of relays may dispatch: a claim
 * is exclusive until its lease ends. Claims of a killed relay then become due again, so a receiver may get an event twice
 * and recognises it by `webhook-id`.
 */
class WebhookDispatcher implements LifecyclePart {
  readonly name = "webhook deliveries";
  readonly #deps: DispatcherDeps;
  readonly #lanes = createAttemptCounts();
  readonly #shares = createAttemptCounts();
  readonly #underWay = new Set<Promise<void>>();
  readonly #restricted: Record<LaneRestriction, number> = { failing: 0, test: 0 };
  #after = "";
  /** The round to come; null while one is made. */
  #next: { atMs: number; timer: Timer } | null = null;
  #round: Promise<void> | null = null;
  #stopping = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#schedule(dispatchEveryMs);
  }

  async drain(): Promise<void> {
    this.#stopping = true;
    this.#next?.timer.cancel();
    this.#next = null;
    await this.#round;
    await Promise.all(this.#underWay);
  }

  #begin(claimed: ClaimedDelivery, restriction: LaneRestriction | null): void {
    const { lane } = claimed;
    const share = shareKey({ teamId: claimed.team_id, livemode: claimed.livemode });
    this.#lanes.begin(lane);
    this.#shares.begin(share);
    if (restriction !== null) this.#restricted[restriction] += 1;
    const work = this.#deps
      .deliver(claimed)
      .catch((error) =>
        this.#deps.log.warn({ err: error, delivery: claimed.id }, "cannot record a delivery's outcome"),
      )
      .finally(() => {
        this.#lanes.end(lane);
        this.#shares.end(share);
        if (restriction !== null) this.#restricted[restriction] -= 1;
        this.#underWay.delete(work);
        if (this.#next !== null) this.#schedule(dispatchAgainMs);
      });
    this.#underWay.add(work);
  }

  async #stopDisabled(found: readonly DeliveryQueue[]): Promise<void> {
    for (const { lane, disabled } of found)
      if (disabled) await stopDeliveries(this.#deps.sql, lane, DISABLED);
  }

  async #dispatch(): Promise<void> {
    if (this.#underWay.size >= inFlight) return;
    const found = await listDeliveryQueues(this.#deps.sql, this.#after, lanesPerRound);
    this.#after = found.length < lanesPerRound ? "" : (found.at(-1)?.lane ?? "");
    await this.#stopDisabled(found);
    const shares = shareSlots(found, {
      lanes: this.#lanes,
      shares: this.#shares,
      total: this.#underWay.size,
      restricted: this.#restricted,
    });
    if (shares.length === 0 || this.#stopping) return;
    const restrictions = new Map(shares.map(({ lane, restriction }) => [lane, restriction]));
    for (const claimed of await claimDeliveries(this.#deps.sql, shares))
      this.#begin(claimed, restrictions.get(claimed.lane) ?? null);
  }

  async #makeRound(): Promise<void> {
    let pauseMs: number = dispatchEveryMs;
    try {
      await this.#dispatch();
    } catch (error) {
      this.#deps.log.warn({ err: error }, "cannot claim due webhook deliveries");
      pauseMs = LIMITS.relay.everyMs;
    }
    this.#round = null;
    if (!this.#stopping) this.#schedule(pauseMs);
  }

  /** Schedules a round in `delayMs`, unless an earlier one is scheduled. */
  #schedule(delayMs: number): void {
    const atMs = this.#deps.clock.monotonic() + delayMs;
    if (this.#next !== null && this.#next.atMs <= atMs) return;
    this.#next?.timer.cancel();
    const timer = this.#deps.clock.after(delayMs, () => {
      this.#next = null;
      this.#round = this.#makeRound();
    });
    this.#next = { atMs, timer };
  }
}

export function createWebhookDispatcher(deps: DispatcherDeps): LifecyclePart {
  return new WebhookDispatcher(deps);
}
