import { createHmac, timingSafeEqual } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { Clock } from "../../platform/time/clock.ts";

/** 32 bytes in hex. */
const SIGNATURE = /^[0-9a-f]{64}$/;

interface SignatureHeader {
  timestamp: string;
  signatures: Buffer[];
}

/** `t=seconds,v1=hex,v1=hex,…`: one signature for each active secret during a rotation. */
function readHeader(header: string): SignatureHeader | null {
  let timestamp: string | null = null;
  const signatures: Buffer[] = [];
  for (const part of header.split(",", 2 * LIMITS.billing.signatures)) {
    const [name, value = ""] = part.trim().split("=", 2);
    if (name === "t" && /^\d{1,12}$/.test(value)) timestamp ??= value;
    if (name === "v1" && SIGNATURE.test(value)) signatures.push(Buffer.from(value, "hex"));
  }
  return timestamp === null ? null : { timestamp, signatures };
}

/**
 * Checks Stripe's signature (scheme v1: HMAC-SHA-256 of timestamp, dot and body) over the bytes of a body. Not by Stripe's
 * own library: it decodes the body first, which maps different bytes to one text.
 * @throws AppError `invalid_signature`: missing, malformed, not over these bytes, or older or further ahead than
 *   LIMITS.billing.signatureToleranceS
 */
export function verifySignature(
  { header, body, secret }: { header: string; body: Uint8Array; secret: string },
  clock: Clock,
): void {
  const read = readHeader(header);
  if (read === null)
    throw new AppError("invalid_signature", "The Stripe-Signature header is missing or malformed.");
  const { timestamp, signatures } = read;
  const expected = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest();
  if (!signatures.some((signature) => timingSafeEqual(signature, expected)))
    throw new AppError("invalid_signature", "The signature does not match the body and our secret.");
  const ageS = Math.floor(clock.now() / 1000) - Number(timestamp);
  if (Math.abs(ageS) > LIMITS.billing.signatureToleranceS)
    throw new AppError("invalid_signature", "The signature's timestamp is too far from now.");
}
