import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/**
 * Encrypts secrets that must be read again (webhook secrets, queued mails), with AES-256-GCM under SECRETS_KEY. Sealed: 1
 * byte of version, 12 of nonce, 16 of tag, then the cipher text, as long as the text's UTF-8.
 *
 * The context names the field and row of the text. With the version it is authenticated (AAD) and not stored, so that a
 * text copied to another row or column does not open there.
 *
 * Nonces are random: with one key, 2^32 texts may be sealed before the probability of a repeated nonce exceeds 2^-32.
 */
export interface SecretBox {
  /** @param context where the text belongs, e.g. `webhooks.secret:wh_…`; the same is needed to open it */
  seal(text: string, context: string): Buffer;
  /** @throws SecretBoxError when the bytes were sealed with another key or context, were changed, or are not sealed bytes */
  open(sealed: Uint8Array, context: string): string;
}

/** A stored secret cannot be opened. The message does not reveal the content. */
export class SecretBoxError extends Error {
  override name = "SecretBoxError";
}

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

function additionalData(context: string): Buffer {
  return Buffer.concat([Buffer.of(VERSION), Buffer.from(context, "utf8")]);
}

/** @param key 32 bytes */
export function createSecretBox(key: Buffer): SecretBox {
  if (key.length !== KEY_BYTES) throw new RangeError(`the key must have ${KEY_BYTES} bytes`);

  return {
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(additionalData(context));
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), body]);
    },

    open(sealed, context) {
      if (sealed.length < HEAD_BYTES || sealed[0] !== VERSION)
        throw new SecretBoxError("not sealed by this version");
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(additionalData(context));
      decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
      const body = decipher.update(sealed.subarray(HEAD_BYTES));
      try {
        return Buffer.concat([body, decipher.final()]).toString("utf8");
      } catch (cause) {
        throw new SecretBoxError("sealed with another key or for another place, or changed", { cause });
      }
    },
  };
}
