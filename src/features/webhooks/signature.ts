import { createHmac, randomBytes } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";

/** Signatures of Standard Webhooks (https://www.standardwebhooks.com), symmetric, version `v1`. */

const SECRET_PREFIX = "whsec_";

/** `whsec_` and the base64 of the key. */
export function newSigningSecret(): string {
  return SECRET_PREFIX + randomBytes(LIMITS.webhooks.secretBytes).toString("base64");
}

const keyOf = (secret: string) => Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");

const macOf = (secret: string, text: string) =>
  createHmac("sha256", keyOf(secret)).update(text, "utf8").digest("base64");

/** What a test secret is made of besides the team's secret. Documented: teams compute it too. */
const TEST_SECRET_TEXT = "rcpt test";

/**
 * The secret for what jobs of test keys send to URLs of their own. It is made from the team's secret, which cannot be computed
 * from it: a receiver that knows one of the two only, takes no message of the other mode for genuine.
 */
export function testSigningSecret(secret: string): string {
  return SECRET_PREFIX + macOf(secret, TEST_SECRET_TEXT);
}

export interface SignedMessage {
  /** The same for every attempt: receivers recognise repetitions by it. */
  id: string;
  /** Time of the attempt, in seconds since the epoch: receivers recognise replays by it. */
  timestampS: number;
  body: string;
}

/**
 * The headers that sign a message.
 * @param secrets from `newSigningSecret`; with several (during a rotation) each gives a signature
 */
export function signatureHeaders(
  message: SignedMessage,
  secrets: readonly string[],
): Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string> {
  const content = `${message.id}.${message.timestampS}.${message.body}`;
  const signatures = secrets.map((secret) => `v1,${macOf(secret, content)}`);
  return {
    "webhook-id": message.id,
    "webhook-timestamp": String(message.timestampS),
    "webhook-signature": signatures.join(" "),
  };
}

export interface MessageSource {
  event_id: string;
  event_type: string;
  event_at: Date;
  livemode: boolean;
  data: Record<string, unknown>;
}

export interface MessageBody {
  id: string;
  type: string;
  timestamp: string;
  livemode: boolean;
  data: Record<string, unknown>;
}

export function messageOf(event: MessageSource): MessageBody {
  return {
    id: event.event_id,
    type: event.event_type,
    timestamp: event.event_at.toISOString(),
    livemode: event.livemode,
    data: event.data,
  };
}

/** The body of every attempt for an event: the same bytes each time. */
export function messageBody(event: MessageSource): string {
  return JSON.stringify(messageOf(event));
}
