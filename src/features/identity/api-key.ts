import * as crypto from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * Secrets of keys, sessions and mailed links: `rcpt_` kind `_`, 27 random letters and digits (160.7 bits), then 6 that are
 * the CRC-32 of all before them in base 62. The checksum reveals a mistyped or cut secret without a look-up; it protects
 * nothing.
 *
 * A secret is stored, looked up and cached by its SHA-256 only. A process that receives it keeps it in memory for a second
 * or two (auth/header-memo.ts). It needs no salt and no slow hash, being random. It needs no constant-time comparison: only
 * that memory compares secrets, after their hashes by a seed of the process matched. The timing of an index look-up reveals
 * nothing that helps to find a secret with the hash.
 */
export const CREDENTIAL_KINDS = ["live", "test", "sess"] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];
/**
 * Tokens of links, each for one purpose and one use: an invitation, a new password, a registration. They are not
 * credentials: they authenticate no request.
 */
export type TokenKind = "inv" | "pwr" | "reg";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS = 27;
const CHECKSUM_CHARS = 6;
const SHAPE = new RegExp(`^rcpt_(live|test|sess)_[0-9A-Za-z]{${RANDOM_CHARS + CHECKSUM_CHARS}}$`);
const TOKEN_SHAPE = new RegExp(`^rcpt_(inv|pwr|reg)_[0-9A-Za-z]{${RANDOM_CHARS + CHECKSUM_CHARS}}$`);

/** Random letters and digits, each equally likely: bytes that would favour the first letters are thrown away. */
function randomChars(count: number): string {
  const unbiased = 256 - (256 % ALPHABET.length);
  let chars = "";
  while (chars.length < count) {
    for (const byte of crypto.randomBytes(count)) {
      if (byte < unbiased && chars.length < count) chars += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return chars;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let chars = "";
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    chars = ALPHABET.charAt(rest % ALPHABET.length) + chars;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return chars;
}

/** A new secret. Shown once, never stored. */
export function newSecret(kind: CredentialKind | TokenKind): string {
  const body = `rcpt_${kind}_${randomChars(RANDOM_CHARS)}`;
  return body + checksum(body);
}

/** True when `text` has the form of a secret and its checksum. False: it cannot be one of our secrets. */
export function isWellFormedSecret(text: string): boolean {
  return SHAPE.test(text) && hasChecksum(text);
}

/** The same of a link's token of the kind. */
export function isWellFormedToken(kind: TokenKind, text: string): boolean {
  return TOKEN_SHAPE.exec(text)?.[1] === kind && hasChecksum(text);
}

function hasChecksum(text: string): boolean {
  return checksum(text.slice(0, -CHECKSUM_CHARS)) === text.slice(text.length - CHECKSUM_CHARS);
}

/** The parts of a secret that lists show: its start, and its last four characters. */
export function secretHint(secret: string): { prefix: string; last4: string } {
  return { prefix: secret.slice(0, 14), last4: secret.slice(-4) };
}

/** SHA-256 in hex. `crypto.hash` takes 0.24 µs where `createHash` takes 0.64; Node has it from 20.12. */
export const hashSecret: (secret: string) => string =
  typeof crypto.hash === "function"
    ? (secret) => crypto.hash("sha256", secret, "hex")
    : (secret) => crypto.createHash("sha256").update(secret).digest("hex");
