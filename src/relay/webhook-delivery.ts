import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import { limitsOf } from "../services/authenticate/lookup.ts";
import type { SecretBox } from "../services/secret-box.ts";
import {
  ATTEMPTS_MAX,
  type Attempt,
  type DeliveryError,
  judgeAttempt,
} from "../services/webhooks/outcome.ts";
import { openSecrets } from "../services/webhooks/secrets.ts";
import { messageBody, signatureHeaders } from "../services/webhooks/signature.ts";
import type { Database } from "../store/postgres.ts";
import { stopDeliveries } from "../store/webhook-deliveries.ts";
import {
  disableGone,
  disableIfFailing,
  noteFailure,
  noteSuccess,
  type Tried,
} from "../store/webhook-health.ts";
import { type ClaimedDelivery, recordAttempt } from "../store/webhook-queue.ts";
import type { WebhookClient } from "./webhook-client.ts";

export interface DeliveryDeps {
  sql: Database;
  box: SecretBox;
  client: WebhookClient;
  clock: Clock;
  /** From 0 to 1, exclusive: the jitter. */
  random(): number;
  log: Logger;
  metrics: Pick<Metrics, "webhookAttempts" | "webhookSeconds">;
}

/**
 * Makes one attempt of a claimed delivery and writes down what came of it. Rejects when that could not be written: then
 * the claim ends by itself, and there is another attempt.
 */
export type Deliver = (claimed: ClaimedDelivery) => Promise<void>;

const DISABLED: DeliveryError = "webhook_disabled";
const DOWNGRADED: DeliveryError = "unavailable_in_tier";

/** Nothing reached the receiver, and that was not its doing: its webhook is not disabled for it. */
const OURS: ReadonlySet<DeliveryError | null> = new Set<DeliveryError>([
  "secret_unreadable",
  "internal_error",
]);

/** What a network or a resolver of ours that is down looks like, too. */
const PERHAPS_OURS: ReadonlySet<DeliveryError | null> = new Set<DeliveryError>([
  "dns_failure",
  "connect_timeout",
  "connection_failed",
]);

const isPoison = ({ claims }: ClaimedDelivery) => claims > LIMITS.webhooks.claimsMax;

/** Each statement stands by itself and locks one table's rows: a crash between two loses nothing but a date. */
export function createDeliver(deps: DeliveryDeps): Deliver {
  const { sql, box, client, clock, log, metrics } = deps;

  async function attempt(claimed: ClaimedDelivery, url: string): Promise<Attempt> {
    let secrets: string[];
    try {
      secrets = openSecrets(box, claimed);
    } catch (error) {
      log.error(
        { err: error, delivery: claimed.id },
        "a delivery cannot be signed: has SECRETS_KEY changed?",
      );
      return { answered: false, error: "secret_unreadable", durationMs: 0 };
    }
    const body = messageBody(claimed);
    const timestampS = Math.floor(clock.now() / 1_000);
    const headers = {
      "content-type": "application/json",
      "user-agent": "rcpt-webhooks/1",
      ...signatureHeaders({ id: claimed.event_id, timestampS, body }, secrets),
    };
    return client.post({ url, headers, body });
  }

  /** A delivery that we fail at ends like any other: it must not come back for ever. */
  async function attemptSafely(claimed: ClaimedDelivery, url: string): Promise<Attempt> {
    const startedMs = clock.monotonic();
    try {
      // Who claimed it was killed each time, perhaps by it.
      if (isPoison(claimed)) throw new Error("claimed again and again, and nobody said what came of it");
      return await attempt(claimed, url);
    } catch (error) {
      log.error({ err: error, delivery: claimed.id }, "an attempt to deliver failed in ourselves");
      return { answered: false, error: "internal_error", durationMs: clock.monotonic() - startedMs };
    }
  }

  async function disable(tried: Tried, error: DeliveryError | null): Promise<boolean> {
    if (error === "gone") return disableGone(sql, tried);
    const perhapsOurs = PERHAPS_OURS.has(error);
    return disableIfFailing(sql, tried, { failingMs: LIMITS.webhooks.failingMs, perhapsOurs });
  }

  async function noteAtWebhook(tried: Tried, { status, error }: ReturnType<typeof judgeAttempt>) {
    if (OURS.has(error)) return;
    if (status === "succeeded") return noteSuccess(sql, tried);
    await noteFailure(sql, tried);
    const { webhook_id: webhook } = tried;
    if (status !== "failed" || webhook === null || !(await disable(tried, error))) return;
    await stopDeliveries(sql, webhook, DISABLED);
    log.info({ webhook, error }, "a webhook was disabled");
  }

  return async (claimed) => {
    if (claimed.disabled) return stopDeliveries(sql, claimed.lane, DISABLED);
    if (!limitsOf(claimed).webhooks) return stopDeliveries(sql, claimed.lane, DOWNGRADED);
    // Its webhook was deleted between two steps of the claim, and the delivery with it.
    const { url } = claimed;
    if (url === null) return;
    const outcome = await attemptSafely(claimed, url);
    metrics.webhookSeconds.observe(outcome.durationMs / 1_000);
    const chance = { random: deps.random(), nowMs: clock.now() };
    const record = judgeAttempt(outcome, isPoison(claimed) ? ATTEMPTS_MAX : claimed.attempts + 1, chance);
    metrics.webhookAttempts.inc({ result: record.status === "pending" ? "retrying" : record.status });
    if (await recordAttempt(sql, claimed, record)) await noteAtWebhook({ ...claimed, url }, record);
  };
}
