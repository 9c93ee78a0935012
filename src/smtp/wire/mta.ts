import type { SmtpReply } from "./reply.ts";

/** Limits of a session by the defaults of the server's software. Infinite: the software has no such limit. */
export interface DefaultMtaLimits {
  transactions: number;
  rejections: number;
  /**
   * The figures are documented or measured limits: exceeding them hits the limit. False: a starting point; more may be
   * tried at once.
   */
  firm: boolean;
}

const UNLIMITED = Number.POSITIVE_INFINITY;

/** For unknown software, or software without published limits: start low and rise soon. */
export const UNKNOWN_MTA_LIMITS: DefaultMtaLimits = { transactions: 100, rejections: 8, firm: false };

/**
 * postfix: `smtpd_soft_error_limit` 10, from which each reply waits 1 s; `smtpd_junk_command_limit` 100 counts RSET.
 * exim: `smtp_accept_max_nonmail` 10 counts RSET; the 12th is refused.
 * opensmtpd: counts no refusals (measured); 100 mails a session (`limit session max-mails`).
 * exchange: `MaxProtocolErrors` 5 on receive connectors, after which it closes.
 */
const MTA_LIMITS = {
  postfix: { transactions: 100, rejections: 9, firm: true },
  exim: { transactions: 10, rejections: UNLIMITED, firm: true },
  opensmtpd: { transactions: 100, rejections: UNLIMITED, firm: true },
  exchange: { transactions: 100, rejections: 4, firm: false },
} as const satisfies Record<string, DefaultMtaLimits>;

export type Mta = keyof typeof MTA_LIMITS;

/**
 * Names in greetings; a masked greeting names none. `220 mx.example.com ESMTP Postfix`, `… Microsoft ESMTP MAIL Service
 * ready at …`
 */
const NAMES: readonly [RegExp, Mta][] = [
  [/\bPostfix\b/i, "postfix"],
  [/\bExim\b/i, "exim"],
  [/\bOpenSMTPD\b/i, "opensmtpd"],
  [/\bMicrosoft ESMTP\b/i, "exchange"],
];

/** Extensions that only one software offers, or offers first and in this order: they show behind a masked greeting too. */
const EXTENSIONS: readonly [RegExp, Mta][] = [
  [/^PIPELINING SIZE (?:VRFY )?ETRN\b/, "postfix"],
  [/\b(?:PIPECONNECT|PRDR)\b/, "exim"],
  [/\bX-(?:ANONYMOUSTLS|EXPS)\b/, "exchange"],
];

/**
 * Detects the server software from the start of a session.
 * @param hello the latest reply to EHLO; null: the server refused EHLO
 * @returns null: the server does not reveal it
 */
export function detectMta(greeting: SmtpReply | null, hello: SmtpReply | null): Mta | null {
  const words = (greeting?.lines ?? []).join(" ");
  for (const [pattern, mta] of NAMES) if (pattern.test(words)) return mta;
  const offered = (hello?.lines ?? []).slice(1).map((line) => (line.split(" ", 1)[0] ?? "").toUpperCase());
  const keywords = offered.join(" ");
  for (const [pattern, mta] of EXTENSIONS) if (pattern.test(keywords)) return mta;
  return null;
}

export function defaultLimitsOf(mta: Mta | null): DefaultMtaLimits {
  return mta === null ? UNKNOWN_MTA_LIMITS : MTA_LIMITS[mta];
}
