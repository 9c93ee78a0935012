import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import type { SecretBox } from "../../../platform/secret-box.ts";
import type { Metrics } from "../../../platform/telemetry/metrics.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { limitsOf } from "../../auth/lookup.ts";
import { openSecrets } from "../secrets.ts";
import { messageBody, signatureHeaders } from "../signature.ts";
import { stopDeliveries } from "../webhook-deliveries.ts";
import {
  type AttemptedWebhook,
  disableFailingWebhook,
  disableGoneWebhook,
  noteFailure,
  noteSuccess,
} from "../webhook-health.ts";
import { type ClaimedDelivery, recordAttempt } from "../webhook-queue.ts";
import { ATTEMPTS_MAX, type DeliveryAttempt, type DeliveryError, judgeAttempt } from "./outcome.ts";
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
 * Makes one attempt of a claimed delivery and records its outcome. Rejects when recording fails: then the claim ends by
 * itself, and another attempt follows.
 */
export type Deliver = (claimed: ClaimedDelivery) => Promise<void>;

const DISABLED: DeliveryError = "webhook_disabled";
const DOWNGRADED: DeliveryError = "unavailable_in_tier";

/** Nothing reached the receiver, through no fault of its own: its webhook is not disabled for it. */
const OUR_FAULT: ReadonlySet<DeliveryError | null> = new Set<DeliveryError>([
  "secret_unreadable",
  "internal_error",
]);

/** An outage of our own network or resolver looks the same. */
const MAYBE_OUR_FAULT: ReadonlySet<DeliveryError | null> = new Set<DeliveryError>([
  "dns_failure",
  "connect_timeout",
  "connection_failed",
]);

const isPoison = ({ claims }: ClaimedDelivery) => claims > LIMITS.webhooks.claimsMax;

/** Each statement is a transaction and locks one table's rows: a crash between two loses only a date. */
export function createDeliver(deps: DeliveryDeps): Deliver {
  const { sql, box, client, clock, log, metrics } = deps;

  async function attempt(claimed: ClaimedDelivery, url: string): Promise<DeliveryAttempt> {
    let secrets: string[];
    try {
      secrets = openSecrets(box, claimed);
    } catch (error) {
      log.error({ err: error, delivery: claimed.id }, "cannot sign a delivery: has SECRETS_KEY changed?");
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

  /** A delivery that fails by our fault ends like any other: it must not come back for ever. */
  async function attemptSafely(claimed: ClaimedDelivery, url: string): Promise<DeliveryAttempt> {
    const startedMs = clock.monotonic();
    try {
      // Every relay that claimed it was killed, perhaps by it.
      if (isPoison(claimed)) throw new Error("claimed repeatedly without a recorded outcome");
      return await attempt(claimed, url);
    } catch (error) {
      log.error({ err: error, delivery: claimed.id }, "a delivery attempt failed by our fault");
      return { answered: false, error: "internal_error", durationMs: clock.monotonic() - startedMs };
    }
  }

  async function disable(tried: AttemptedWebhook, error: DeliveryError | null): Promise<boolean> {
    if (error === "gone") return disableGoneWebhook(sql, tried);
    const perhapsOurs = MAYBE_OUR_FAULT.has(error);
    return disableFailingWebhook(sql, tried, { failingMs: LIMITS.webhooks.failingMs, perhapsOurs });
  }

  async function noteAtWebhook(tried: AttemptedWebhook, { status, error }: ReturnType<typeof judgeAttempt>) {
    if (OUR_FAULT.has(error)) return;
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
    // The webhook was deleted between two steps of the claim, and the delivery with it.
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
