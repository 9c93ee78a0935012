import { randomBytes } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { createFairQueue } from "../../platform/fair-queue.ts";
import { createTeamSlots } from "../../platform/team-slots.ts";

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

/** The requester of a hash. */
export interface HashRequester {
  /** Known: it has proved an account, before or with this request. */
  standing: "known" | "unknown";
  /** Whose turns and places it uses: of a client `clientShare`, of a user with a session the user's id. */
  share: string;
}

/** Passwords, stored as argon2id. */
export interface Passwords {
  /** @param password without a fault. @throws AppError `overloaded` */
  hash(password: string, requester: HashRequester): Promise<string>;
  /**
   * Takes as long for a password that cannot be hashed, or for an account without one (`stored` null): false then. An
   * existing password may be shorter than new ones must be.
   * @throws AppError `overloaded`
   */
  verify(stored: string | null, password: string, requester: HashRequester): Promise<boolean>;
}

const unpadded = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");

/** A well-formed hash that matches no password: verifying against it takes as long as against a real one. */
function unmatchable(): string {
  const { memoryCost, timeCost, parallelism } = LIMITS.portal.argon2;
  const head = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}`;
  return `${head}$${unpadded(randomBytes(16))}$${unpadded(randomBytes(32))}`;
}

function tooManyHashes(): AppError {
  return new AppError("overloaded", "Too many passwords are being checked. Retry after 2 s.", {
    retryAfterS: 2,
  });
}

/**
 * Each hash takes tens of milliseconds of a thread and 19 MiB, so few run at once and few wait: a flood of sign-ins is
 * refused and does not stop the process. Each share has a part of the places, and the next turn is that of the share served longest
 * ago. All unknown requesters together have the turns of one share, so that in any number they hardly delay known ones.
 * @param cores of the machine: half of them hash, at most LIMITS.portal.hashesInFlight
 */
export function createPasswords(cores: number): Passwords {
  const unmatchableHash = unmatchable();
  const { hashesInFlight, hashes } = LIMITS.portal;
  const places = Math.min(hashesInFlight, Math.max(1, Math.floor(cores / 2)));
  const limits = { atOnce: places, perShare: places };
  const queue = createFairQueue(limits);
  /** Those of unknown requesters who may wait for a turn in `queue`. */
  const unknownQueue = createFairQueue(limits);
  const slots = {
    known: createTeamSlots(hashes.known, tooManyHashes),
    unknown: createTeamSlots(hashes.unknown, tooManyHashes),
  };

  async function inTurn<T>({ standing, share }: HashRequester, work: () => Promise<T>): Promise<T> {
    const giveBack = slots[standing].take(share);
    try {
      if (standing === "known") return await queue.run(share, work);
      return await unknownQueue.run(share, () => queue.run("unknown requesters", work));
    } finally {
      giveBack();
    }
  }

  return {
    hash: (password, requester) =>
      inTurn(requester, async () =>
        (await argon2()).hash(normalisedPassword(password), LIMITS.portal.argon2),
      ),

    async verify(stored, password, requester) {
      const hasFault = hashFault(password) !== null;
      const text = hasFault ? "" : normalisedPassword(password);
      const matches = await inTurn(requester, async () =>
        (await argon2()).verify(stored ?? unmatchableHash, text),
      );
      return matches && !hasFault && stored !== null;
    },
  };
}
