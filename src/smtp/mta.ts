import type { Reply } from "./reply.ts";

/** What a mail server allows a session as its makers ship it. Infinite: it counts nothing of the kind. */
export interface StockLimits {
  transactions: number;
  rejections: number;
  /** The figures are documented or measured limits: more meets them. False: where to begin, more may be tried at once. */
  firm: boolean;
}

const NONE = Number.POSITIVE_INFINITY;

/** Of a server that does not say what it is, or of which nothing is published: prudent, and soon more. */
export const UNKNOWN_STOCK: StockLimits = { transactions: 100, rejections: 8, firm: false };

/**
 * postfix: `smtpd_soft_error_limit` 10, from which each reply waits 1 s; `smtpd_junk_command_limit` 100 counts RSET.
 * exim: `smtp_accept_max_nonmail` 10 counts RSET; the 12th is refused.
 * opensmtpd: counts no refusals (measured); 100 mails a session (`limit session max-mails`).
 * exchange: `MaxProtocolErrors` 5 on receive connectors, after which it closes.
 */
const STOCK = {
  postfix: { transactions: 100, rejections: 9, firm: true },
  exim: { transactions: 10, rejections: NONE, firm: true },
  opensmtpd: { transactions: 100, rejections: NONE, firm: true },
  exchange: { transactions: 100, rejections: 4, firm: false },
} as const satisfies Record<string, StockLimits>;

export type Mta = keyof typeof STOCK;

/** As their greetings name them; a mask says nothing. `220 mx.example.com ESMTP Postfix`, `… Microsoft ESMTP MAIL Service ready at …` */
const NAMES: readonly [RegExp, Mta][] = [
  [/\bPostfix\b/i, "postfix"],
  [/\bExim\b/i, "exim"],
  [/\bOpenSMTPD\b/i, "opensmtpd"],
  [/\bMicrosoft ESMTP\b/i, "exchange"],
];

/** Extensions that one server alone offers, or offers first and in this order: also behind a masked greeting. */
const EXTENSIONS: readonly [RegExp, Mta][] = [
  [/^PIPELINING SIZE (?:VRFY )?ETRN\b/, "postfix"],
  [/\b(?:PIPECONNECT|PRDR)\b/, "exim"],
  [/\bX-(?:ANONYMOUSTLS|EXPS)\b/, "exchange"],
];

/**
 * Which software a server is, by what it said at the start of a session.
 * @param hello its reply to EHLO, the latest; null: it refused EHLO
 * @returns null: it does not show it
 */
export function mtaOf(greeting: Reply | null, hello: Reply | null): Mta | null {
  const words = (greeting?.lines ?? []).join(" ");
  for (const [pattern, mta] of NAMES) if (pattern.test(words)) return mta;
  const offered = (hello?.lines ?? []).slice(1).map((line) => (line.split(" ", 1)[0] ?? "").toUpperCase());
  const keywords = offered.join(" ");
  for (const [pattern, mta] of EXTENSIONS) if (pattern.test(keywords)) return mta;
  return null;
}

export function stockOf(mta: Mta | null): StockLimits {
  return mta === null ? UNKNOWN_STOCK : STOCK[mta];
}
