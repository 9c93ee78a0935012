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

const { dispatchEveryMs, dispatchAgainMs, lanesPerRound, inFlight } = LIMITS.webhooks;

/**
 * Attempts the deliveries that are due. A round asks which webhooks have any, a page of them in turn, shares its free
 * places out among those, and claims that many of each; attempts go on while the next rounds are made. Any number of
 * relays may dispatch: a claim is one's own until its lease ends, and what a killed one had claimed is then due again,
 * so a receiver may be told twice and knows by `webhook-id`.
 */
class WebhookDispatcher implements Part {
  readonly name = "webhook deliveries";
  readonly #deps: DispatcherDeps;
  readonly #lanes = createTurns();
  readonly #teams = createTurns();
  readonly #underWay = new Set<Promise<void>>();
  #failing = 0;
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

  #begin(claimed: ClaimedDelivery, ofFailing: boolean): void {
    const { lane, team_id: team } = claimed;
    this.#lanes.begin(lane);
    this.#teams.begin(team);
    if (ofFailing) this.#failing += 1;
    const work = this.#deps
      .deliver(claimed)
      .catch((error) =>
        this.#deps.log.warn({ err: error, delivery: claimed.id }, "a delivery could not be written down"),
      )
      .finally(() => {
        this.#lanes.end(lane);
        this.#teams.end(team);
        if (ofFailing) this.#failing -= 1;
        this.#underWay.delete(work);
        if (this.#next !== null) this.#schedule(dispatchAgainMs);
      });
    this.#underWay.add(work);
  }

  async #stopDisabled(found: readonly Lane[]): Promise<void> {
    for (const { lane, disabled } of found)
      if (disabled) await stopDeliveries(this.#deps.sql, lane, DISABLED);
  }

  async #dispatch(): Promise<void> {
    if (this.#underWay.size >= inFlight) return;
    const found = await nextLanes(this.#deps.sql, this.#after, lanesPerRound);
    this.#after = found.length < lanesPerRound ? "" : (found.at(-1)?.lane ?? "");
    await this.#stopDisabled(found);
    const shares = shareOut(found, {
      lanes: this.#lanes,
      teams: this.#teams,
      total: this.#underWay.size,
      failing: this.#failing,
    });
    if (shares.length === 0 || this.#stopping) return;
    const ofFailing = new Set(shares.filter((share) => share.failing).map(({ lane }) => lane));
    for (const claimed of await claimDeliveries(this.#deps.sql, shares))
      this.#begin(claimed, ofFailing.has(claimed.lane));
  }

  async #makeRound(): Promise<void> {
    let pauseMs: number = dispatchEveryMs;
    try {
      await this.#dispatch();
    } catch (error) {
      this.#deps.log.warn({ err: error }, "due webhook deliveries could not be claimed");
      pauseMs = LIMITS.relay.everyMs;
    }
    this.#round = null;
    if (!this.#stopping) this.#schedule(pauseMs);
  }

  /** Has a round made in `delayMs`, or earlier if one is to be made earlier anyway. */
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

export function createWebhookDispatcher(deps: DispatcherDeps): Part {
  return new WebhookDispatcher(deps);
}
