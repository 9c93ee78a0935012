import { randomBytes } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";

/** Loaded with the first password: 30 ms that the start of a process need not wait for. */
const argon2 = () => import("@node-rs/argon2");

const MIN = LIMITS.portal.passwordCharsMin;
const MAX = LIMITS.portal.passwordCharsMax;

/** One form for all spellings of a text: keyboards differ in how they compose characters. */
export function normalisedPassword(password: string): string {
  return password.normalize("NFKC");
}

/**
 * Why a password cannot be hashed, in words; null: it can. Characters are code points after NFKC, at most 4 bytes each,
 * which also bounds the hashed bytes. All are allowed except NUL, which some tools take for the end.
 */
function hashFault(password: string): string | null {
  // Far more than NFKC could turn into MAX characters: not worth the work.
  if (password.length > 8 * MAX) return `must be at most ${MAX} characters`;
  if (/\p{Cs}/u.test(password)) return "must be Unicode text";
  const text = normalisedPassword(password);
  if ([...text].length > MAX) return `must be at most ${MAX} characters`;
  return text.includes("\0") ? "must not contain NUL" : null;
}

/** Why the form of a new password is invalid, in words; null: it is valid. See also `guessableFault`. */
export function passwordFault(password: string): string | null {
  const isShort = [...normalisedPassword(password.slice(0, 8 * MAX))].length < MIN;
  return isShort ? `must be at least ${MIN} characters` : hashFault(password);
}

/** The requester of a hash: a client that has proved an account, before or with this request, or any other. */
export type HashRequester = "known" | "unknown";

/** Passwords, stored as argon2id. */
export interface Passwords {
  /** @param password without a fault. @throws AppError `overloaded` */
  hash(password: string, standing: HashRequester): Promise<string>;
  /**
   * Takes as long for a password that cannot be hashed, or for an account without one (`stored` null): false then. An
   * existing password may be shorter than new ones must be.
   * @throws AppError `overloaded`
   */
  verify(stored: string | null, password: string, standing: HashRequester): Promise<boolean>;
}

const unpadded = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");

/** A well-formed hash that matches no password: verifying against it takes as long as against a real one. */
function unmatchable(): string {
  const { memoryCost, timeCost, parallelism } = LIMITS.portal.argon2;
  const head = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}`;
  return `${head}$${unpadded(randomBytes(16))}$${unpadded(randomBytes(32))}`;
}

/**
 * Each hash takes tens of milliseconds of a thread and 19 MiB, so few run at once and few wait: a flood of sign-ins is
 * refused and does not stop the process. Known requesters have a queue with priority, so that unknown ones, in any number,
 * do not delay them.
 * @param cores of the machine: half of them hash, at most LIMITS.portal.hashesInFlight
 */
export function createPasswords(cores: number): Passwords {
  const unmatchableHash = unmatchable();
  const places = Math.min(LIMITS.portal.hashesInFlight, Math.max(1, Math.floor(cores / 2)));
  const waiting: Record<HashRequester, (() => void)[]> = { known: [], unknown: [] };
  let inFlight = 0;

  async function withPermit<T>(standing: HashRequester, work: () => Promise<T>): Promise<T> {
    if (inFlight >= places) {
      if (waiting[standing].length >= LIMITS.portal.hashesWaiting[standing])
        throw new AppError("overloaded", "Too many passwords are being checked. Retry after 2 s.", {
          retryAfterS: 2,
        });
      // The hash that ends passes its permit on.
      await new Promise<void>((resolve) => waiting[standing].push(resolve));
    } else inFlight++;
    try {
      return await work();
    } finally {
      const next = waiting.known.shift() ?? waiting.unknown.shift();
      if (next === undefined) inFlight--;
      else next();
    }
  }

  return {
    hash: (password, standing) =>
      withPermit(standing, async () =>
        (await argon2()).hash(normalisedPassword(password), LIMITS.portal.argon2),
      ),

    async verify(stored, password, standing) {
      const hasFault = hashFault(password) !== null;
      const text = hasFault ? "" : normalisedPassword(password);
      const matches = await withPermit(standing, async () =>
        (await argon2()).verify(stored ?? unmatchableHash, text),
      );
      return matches && !hasFault && stored !== null;
    },
  };
}
