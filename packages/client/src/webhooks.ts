import { malformedAnswer, RcptError } from "./http/errors.ts";
import type { webhooks as described } from "./schema.d.ts";

/** Deliveries of the service, signed as Standard Webhooks (https://www.standardwebhooks.com) has it. */

type Described = {
  [T in keyof described]: described[T]["post"] extends {
    requestBody: { content: { "application/json": infer B } };
  }
    ? B
    : never;
}[keyof described];

/** Events about something else than a job. */
interface OtherEvent {
  id: string;
  type: "quota.threshold_reached" | "team.member_joined" | "disposable.merged" | "ping";
  timestamp: string;
  livemode: boolean;
  data: Record<string, unknown>;
}

/** An event; `type` says which. */
export type WebhookEvent = Described | OtherEvent;

/** Headers of a Fetch request, or of a Node.js one. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyWebhookOptions {
  /** Largest age of a delivery, or lead of its timestamp, in seconds by our clock; absent: 300. */
  toleranceS?: number | undefined;
}

const TOLERANCE_S = 300;
const PREFIX = "whsec_";
/** Longer ones are not the service's, which sends two at most. */
const SIGNATURES_MAX = 10;

function headerOf(headers: WebhookHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
  const value = entry?.[1] ?? "";
  return typeof value === "string" ? value : value.join(",");
}

/** null: no base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

/** In a time that does not tell where they differ. */
function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (const [i, byte] of a.entries()) difference |= byte ^ (b[i] ?? 0);
  return difference === 0;
}

async function signatureBy(secret: string, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const bytes = fromBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (bytes === null || bytes.length === 0) throw new TypeError("the secret is not one of rcpt's: whsec_…");
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, content));
}

function joined(head: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const first = new TextEncoder().encode(head);
  const whole = new Uint8Array(first.length + body.length);
  whole.set(first);
  whole.set(body, first.length);
  return whole;
}

const refusal = (detail: string) => new RcptError("invalid_signature", detail);

/**
 * Verifies a delivery and returns its event.
 * @param rawBody the bytes as received, before parsing
 * @param secret `whsec_…`; several: one of them must have signed it
 * @throws RcptError `invalid_signature`: not signed by `secret`, or too old; `malformed_answer`: signed, but not an
 * event. TypeError when `secret` is not a webhook's secret
 */
async function verify(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceS = TOLERANCE_S }: VerifyWebhookOptions = {},
): Promise<WebhookEvent> {
  const [id, timestamp] = [headerOf(headers, "webhook-id"), headerOf(headers, "webhook-timestamp")];
  const given = headerOf(headers, "webhook-signature");
  if (id === "" || timestamp === "" || given === "")
    throw refusal("The delivery has no webhook-id, webhook-timestamp or webhook-signature.");
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceS)
    throw refusal(`The delivery was not signed within ${toleranceS} s of now: check this machine's clock.`);
  const raw = rawBody instanceof ArrayBuffer ? new Uint8Array(rawBody) : rawBody;
  const body = typeof raw === "string" ? new TextEncoder().encode(raw) : raw;
  const content = joined(`${id}.${timestamp}.`, body);
  const signatures = given
    .split(" ")
    .slice(0, SIGNATURES_MAX)
    .flatMap((one) =>
      one.startsWith("v1,") ? [fromBase64(one.slice("v1,".length)) ?? new Uint8Array()] : [],
    );
  let isGenuine = false;
  for (const one of typeof secret === "string" ? [secret] : secret) {
    const expected = await signatureBy(one, content);
    for (const signature of signatures) isGenuine = areEqual(signature, expected) || isGenuine;
  }
  if (!isGenuine) throw refusal("The signature is not by this secret, or the body is not as it was sent.");
  try {
    return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
  } catch (error) {
    throw malformedAnswer(error);
  }
}

export const webhooks = { verify };
