import { createHmac, randomBytes } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";

/** Signatures of Standard Webhooks (https://www.standardwebhooks.com), symmetric, version `v1`. */

const SECRET_PREFIX = "whsec_";

/** `whsec_` and the base64 of the key. */
export function newSigningSecret(): string {
  return SECRET_PREFIX + randomBytes(LIMITS.webhooks.secretBytes).toString("base64");
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
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(content, "utf8").digest("base64")}`;
  });
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
