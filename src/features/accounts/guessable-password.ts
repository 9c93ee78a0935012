import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { normalisedPassword } from "./password.ts";

/** An attacker's first guesses for an account: its owner and its purpose. */
export interface PasswordContext {
  email: string;
  /** Names of teams of the account, as far as known. */
  teamNames: readonly string[];
}

const SERVICE = "rcpt";

/**
 * Some 50,000 passwords of published breaches, in lower case. 3 MB and tens of milliseconds: loaded with the first new
 * password.
 */
let common: Promise<ReadonlySet<string>> | null = null;
async function loadCommon(): Promise<ReadonlySet<string>> {
  // From the default export: with a CommonJS package, the build gives an `import()` no other.
  const { default: language } = await import("@zxcvbn-ts/language-common");
  return new Set(language.dictionary["passwords-common"]);
}

const wordOf = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** Address, local part, domain and its first label, names of teams and service, by their letters and digits. */
function contextWords({ email, teamNames }: PasswordContext): Set<string> {
  const at = email.lastIndexOf("@");
  const [local, domain] = [email.slice(0, at), email.slice(at + 1)];
  const given = [email, local, local.replace(/\+.*$/, ""), domain, domain.split(".")[0] ?? "", ...teamNames];
  const words = [...given, SERVICE].map((text) => wordOf(text.normalize("NFKC")));
  return new Set(words.filter((word) => word.length >= LIMITS.portal.contextWordCharsMin));
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/** The step from one character to the next: for digits, 0 follows 9. */
function stepOf(from: number, to: number): number {
  return isDigit(from) && isDigit(to) ? ((to - from + 11) % 10) - 1 : to - from;
}

/** `aaaaaa`, `abcdef`, `890123`, `987654`. */
function isRun(text: string): boolean {
  let last: number | null = null;
  let step: number | null = null;
  let chars = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    const now: number | null = last === null ? null : stepOf(last, code);
    if (now !== null && (Math.abs(now) > 1 || (step ?? now) !== now)) return false;
    step = now;
    last = code;
    chars += 1;
  }
  return chars >= 3;
}

/**
 * Whether the whole password is an obvious guess: a known one, one of `words`, a run of characters, one of these repeated,
 * or with a short or a known tail (`password123!`). A password that merely contains such a word passes (NIST SP 800-63B-4,
 * 3.1.1.2), and no kind of character is required.
 */
export function isGuessable(
  password: string,
  known: ReadonlySet<string>,
  words: ReadonlySet<string>,
): boolean {
  const text = normalisedPassword(password).toLowerCase();
  const isKnown = (part: string) => known.has(part) || words.has(wordOf(part)) || isRun(part);
  if (isKnown(text)) return true;
  const repeated = /^(.+?)\1+$/su.exec(text)?.[1];
  if (repeated !== undefined)
    return isKnown(repeated) || [...repeated].length <= LIMITS.portal.repeatedCharsMax;
  const chars = [...text];
  // A known password may end in digits itself, so each start of a tail without letters is tried. The digits are collected
  // in the same loop: collecting them for each start took 7 ms for 200 characters, which any client may send.
  let digits = "";
  for (let at = chars.length - 1; at > 0 && !/\p{L}/u.test(chars[at] ?? ""); at--) {
    digits = wordOf(chars[at] ?? "") + digits;
    const isPlainTail = chars.length - at <= LIMITS.portal.tailCharsMax || isKnown(digits);
    if (isPlainTail && isKnown(chars.slice(0, at).join(""))) return true;
  }
  return false;
}

/**
 * Refuses a new password that is easily guessed.
 * @param path of the password in the request
 * @throws AppError `validation_failed`
 */
export async function refuseGuessable(
  password: string,
  context: PasswordContext,
  path: "password" | "new_password",
): Promise<void> {
  const fault = await guessableFault(password, context);
  if (fault !== null)
    throw new AppError("validation_failed", `${path} (body) ${fault}.`, {
      errors: [{ path, message: fault }],
    });
}

/** Why a new password of the account is easily guessed, in words; null: it is not. */
export async function guessableFault(password: string, context: PasswordContext): Promise<string | null> {
  common ??= loadCommon();
  return isGuessable(password, await common, contextWords(context))
    ? "is too easily guessed: it is a common password, a simple pattern, or a name of the account"
    : null;
}
