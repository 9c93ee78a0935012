import { randomBytes } from "node:crypto";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";

/** Loaded by the first password: 30 ms that the start of a process need not wait for. */
const argon2 = () => import("@node-rs/argon2");

const MIN = LIMITS.portal.passwordCharsMin;
const MAX = LIMITS.portal.passwordCharsMax;

/** One text for all ways to type it: keyboards differ in what they compose. */
export function normalisedPassword(password: string): string {
  return password.normalize("NFKC");
}

/**
 * What keeps a password from being hashed, in words; null: nothing. Characters are code points after NFKC, at most 4
 * bytes each, which also bounds what is hashed. Any of them will do except NUL, which some tools take for the end.
 */
function hashFault(password: string): string | null {
  // Far more than NFKC makes MAX characters of: not worth the work.
  if (password.length > 8 * MAX) return `must be at most ${MAX} characters`;
  if (/\p{Cs}/u.test(password)) return "must be Unicode text";
  const text = normalisedPassword(password);
  if ([...text].length > MAX) return `must be at most ${MAX} characters`;
  return text.includes("\0") ? "must not contain NUL" : null;
}

/** What is wrong with the form of a new password, in words; null: nothing. See also `guessableFault`. */
export function passwordFault(password: string): string | null {
  const isShort = [...normalisedPassword(password.slice(0, 8 * MAX))].length < MIN;
  return isShort ? `must be at least ${MIN} characters` : hashFault(password);
}

/** Who waits for a hash: somebody who has proven an account before, here or with what came along, or anybody. */
export type Standing = "known" | "stranger";

/** Passwords, kept as argon2id. */
export interface Passwords {
  /** @param password without a fault. @throws AppError `overloaded` */
  hash(password: string, standing: Standing): Promise<string>;
  /**
   * Takes as long for a password that cannot be hashed or an account that has none (`stored` null): false then. One that
   * is shorter than new ones have to be may be from before that rule.
   * @throws AppError `overloaded`
   */
  verify(stored: string | null, password: string, standing: Standing): Promise<boolean>;
}

const unpadded = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");

/** The form of a hash that nobody has the password of: to verify against it takes as long as against a real one. */
function unmatchable(): string {
  const { memoryCost, timeCost, parallelism } = LIMITS.portal.argon2;
  const head = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}`;
  return `${head}$${unpadded(randomBytes(16))}$${unpadded(randomBytes(32))}`;
}

/**
 * Each hash takes tens of milliseconds of a thread and 19 MiB, so that few are computed at once and not many wait: a
 * flood of sign-ins is turned away, it does not stop the process. Who is known waits in a queue of his own, which goes
 * first: strangers, however many, keep none of them out.
 * @param cores of the machine: half of them hash, LIMITS.portal.hashesInFlight at most
 */
export function createPasswords(cores: number): Passwords {
  const nobody = unmatchable();
  const places = Math.min(LIMITS.portal.hashesInFlight, Math.max(1, Math.floor(cores / 2)));
  const waiting: Record<Standing, (() => void)[]> = { known: [], stranger: [] };
  let inFlight = 0;

  async function inTurn<T>(standing: Standing, work: () => Promise<T>): Promise<T> {
    if (inFlight >= places) {
      if (waiting[standing].length >= LIMITS.portal.hashesWaiting[standing])
        throw new AppError("overloaded", "Too many passwords are being checked.", { retryAfterS: 2 });
      // Whoever ends hands its place on.
      await new Promise<void>((resolve) => waiting[standing].push(resolve));
    } else inFlight++;
    try {
      return await work();
    } finally {
      const next = waiting.known.shift() ?? waiting.stranger.shift();
      if (next === undefined) inFlight--;
      else next();
    }
  }

  return {
    hash: (password, standing) =>
      inTurn(standing, async () => (await argon2()).hash(normalisedPassword(password), LIMITS.portal.argon2)),

    async verify(stored, password, standing) {
      const hasFault = hashFault(password) !== null;
      const text = hasFault ? "" : normalisedPassword(password);
      const matches = await inTurn(standing, async () => (await argon2()).verify(stored ?? nobody, text));
      return matches && !hasFault && stored !== null;
    },
  };
}
