import { LIMITS } from "../../config/limits/limits.ts";
import type { SmtpReply } from "../../smtp/wire/reply.ts";
import type { SmtpClass } from "../evidence.ts";
import { decoded } from "./decoding.ts";
import { textOf } from "./text.ts";

/** A day: a longer delay is not waited for anyway. */
const LONGEST_S = 86_400;

/** Units by their first letters, longest first; seconds of each. */
const UNITS: readonly (readonly [pattern: string, seconds: number])[] = [
  ["days?|tage?n?|jours?|d[ií]as?|giorn[io]|dni", 86_400],
  ["hours?|hrs?|h|stunden?|std|heures?|horas?|or[ae]|godzin[ay]?|hodin[ay]?|час(?:а|ов)?|uur", 3_600],
  ["minutes?|minuten|mins?|m|minutos?|minut[ioay]?|minuti|мин(?:ут[аыу]?)?|minuter|minutter|perc|dakika", 60],
  ["seconds?|secs?|s|sekunden?|sek|secondes?|segundos?|second[io]|sekund[ya]?|сек(?:унд[аыу]?)?", 1],
];
const UNIT = UNITS.map(([pattern]) => pattern).join("|");
const UNIT_SECONDS = UNITS.map(
  ([pattern, seconds]) => [new RegExp(`^(?:${pattern})$`, "iu"), seconds] as const,
);

const WORDS: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  five: 5,
  ten: 10,
  fifteen: 15,
  twenty: 20,
  thirty: 30,
  sixty: 60,
};

const APART = "(?![\\p{L}\\p{N}])";
const COUNT = `(\\d{1,6}|${Object.keys(WORDS).join("|")})`;
const LEAD =
  "(?<![\\p{L}\\p{N}])(?:in|after|for|wait|within|another|again|retry|retry-after|delay|delayed|least|greylisted|greylisting" +
  "|graylisted|nach|noch|dans|apr[eè]s|en|dentro de|despu[eé]s de|tra|fra|dopo|em|ap[oó]s|za|po|через|over|om|efter)" +
  "[ =:,(]{1,3}(?:(?:about|approximately|approx\\.?|around|at least|another|a further|etwa|ca\\.?|circa|environ|in|for|de) ){0,2}";

/** `Greylisted for 300 seconds`, `try again in 4 min 30 s`, `retry=300s`. Every repeat is bounded. */
const SPAN = new RegExp(
  `${LEAD}${COUNT} ?(${UNIT})${APART}(?:[ ,]{0,2}(?:and |und |et |y |e )?(\\d{1,4}) ?(${UNIT})${APART})?`,
  "iu",
);
/** `300 seconds remaining`, `5 minutes later`. */
const REST = new RegExp(
  `(?<![\\p{L}\\p{N}.:])${COUNT} ?(${UNIT})${APART} ?(?:later|from now|remaining|left|to go|to wait|plus tard|später)`,
  "iu",
);
/** `come back in 00:04:59`, `try again in 4:59`. */
const CLOCK = new RegExp(`${LEAD}(\\d{1,2}):(\\d{2})(?::(\\d{2}))?(?![\\d:])`, "iu");
/** `请在5分钟后重试`. */
const CHINESE = /(\d{1,6}) ?(秒|分钟|分鐘|分|小时|小時)/;
const CHINESE_SECONDS: Readonly<Record<string, number>> = {
  秒: 1,
  分钟: 60,
  分鐘: 60,
  分: 60,
  小时: 3_600,
  小時: 3_600,
};

function seconds(count: string | undefined, unit: string | undefined): number {
  if (count === undefined || unit === undefined) return 0;
  const number = WORDS[count.toLowerCase()] ?? Number(count);
  return number * (UNIT_SECONDS.find(([pattern]) => pattern.test(unit))?.[1] ?? 1);
}

function clock(found: RegExpExecArray): number {
  const [first = 0, second = 0, third] = found
    .slice(1)
    .map((part) => (part === undefined ? undefined : Number(part)));
  return third === undefined ? first * 60 + second : first * 3_600 + second * 60 + third;
}

/**
 * The delay that a reply names, in seconds, at most a day; null: it names none. A figure counts only with a word that makes
 * it a delay, so that ports, codes and counts do not. Linear; reads only the part of a reply that rules match.
 * @param reply text as received or as evidence keeps it
 */
export function delayNamed(reply: string): number | null {
  const text = reply.slice(0, LIMITS.check.replyMatchedChars);
  // Nearly all replies end here: a delay has a figure or a word for one, and a unit.
  if (!/\d|\b(?:an?|one|two|three|five|ten|fifteen|twenty|thirty|sixty) [mhs]/i.test(text)) return null;
  const time = CLOCK.exec(text);
  if (time !== null) return Math.min(LONGEST_S, clock(time));
  const span = SPAN.exec(text) ?? REST.exec(text);
  if (span !== null) return Math.min(LONGEST_S, seconds(span[1], span[2]) + seconds(span[3], span[4]));
  const chinese = CHINESE.exec(text);
  if (chinese === null) return null;
  return Math.min(LONGEST_S, Number(chinese[1]) * (CHINESE_SECONDS[chinese[2] ?? ""] ?? 1));
}

/** Classes of replies whose delay means nothing: an answer, or a refusal of us, which the breaker times. */
const TIMELESS: ReadonlySet<SmtpClass> = new Set([
  "accepted",
  "mailbox_not_found",
  "mailbox_disabled",
  "sender_blocked",
  "provider_unverifiable",
]);

/** Seconds after which a temporary reply asks for a retry, from its whole text; null: it names none. */
export function delayOf(reply: SmtpReply, ruling: SmtpClass): number | null {
  if (reply.code < 400 || TIMELESS.has(ruling)) return null;
  return delayNamed(textOf({ ...reply, lines: reply.lines.map(decoded) }));
}
