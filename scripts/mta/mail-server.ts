/** Kinds of situation, with the correct answer of the service: a verdict, and one of these reasons. */
export const EXPECTED = {
  existing: { verdict: "valid", reasons: ["accepted_mailbox"] },
  missing: { verdict: "invalid", reasons: ["mailbox_not_found"] },
  full: { verdict: "risky", reasons: ["mailbox_full"] },
  greylisted: { verdict: "unknown", reasons: ["greylisted"] },
  catch_all: { verdict: "risky", reasons: ["catch_all"] },
  /** Refused by a rule that says nothing about the mailbox: answering `invalid` would be wrong about a good address. */
  policy: { verdict: "unknown", reasons: ["refused_by_policy"] },
  /** Refused for our sake. */
  blocked: { verdict: "unknown", reasons: ["sender_blocked"] },
  /** `554 SMTP service not available`: RFC 5321 allows it as a reply to every client too. */
  shut: { verdict: "unknown", reasons: ["sender_blocked", "no_connect"] },
  rate_limited: { verdict: "unknown", reasons: ["rate_limited_by_server"] },
  /** Not now: as good as greylisting where the server will know it a moment later. */
  not_yet: { verdict: "unknown", reasons: ["greylisted", "smtp_protocol_error"] },
  /** A temporary refusal, whatever its words. */
  temporary: { verdict: "unknown", reasons: ["smtp_protocol_error"] },
  no_smtputf8: { verdict: "unknown", reasons: ["refused_by_policy"] },
} as const satisfies Record<string, { verdict: string; reasons: readonly string[] }>;
export type Kind = keyof typeof EXPECTED;

/** How our own question to a server differs from the service's. */
export interface RawAsk {
  /** Sender other than the service's, so that the server's memory of our question does not affect the service's. */
  sender?: string;
  recipient?: string;
  localAddress?: string;
  /** By STARTTLS. */
  tls?: boolean;
  /** Asked so often; the last answer counts. */
  times?: number;
}

export interface Mailbox {
  /** The situation in a few words. */
  situation: string;
  kind: Kind;
  address: string;
  /** Asked by a service whose MAIL FROM is the null sender. */
  nullSender?: true;
  /** The server needs names from our DNS on port 53: left out where that port cannot be had. */
  needsDns?: true;
  raw?: RawAsk;
}

/** Many addresses asked for at once: more wrong ones than the server allows a session, or more connections. */
export interface Burst {
  situation: string;
  /**
   * The limit that the burst may hit: wrong recipients of a session, transactions without a message, or connections. We
   * provoke limits of a session first, to see whether the server has them.
   */
  limit: "wrong" | "idle" | "connections";
  domain: string;
  missing: number;
  existing: number;
}

/** Existing recipients of the domain of a burst, at most: with the missing ones fewer than a new process admits at once. */
export const KEEPERS = 230;
export const MISSING = "nobody";
export const EXISTING = "keeper";

/** Local parts that a burst's domain has. */
export const keepers = (count: number) => Array.from({ length: count }, (_, index) => `${EXISTING}${index}`);

/** A user of a mail server's own little world; each has a group of the same name and number. */
export interface User {
  name: string;
  uid: number;
  home: string;
  /** Groups beside its own. */
  groups?: string[];
}

/**
 * An address that a server listens on. Its domain's MX host is the only one at that address and has a registrable
 * domain of its own. So it is a site of its own to the service, and behaviour learned there does not affect other
 * listeners.
 */
export interface Listener {
  ip: string;
  host: string;
  /** Domains that have this host as their MX. */
  domains: readonly string[];
}

/** Facts about the service's sessions from a server's own log. */
export interface LogReading {
  sessions: number;
  /** Rejections of the session with the most. */
  mostRejections: number;
  /** Sessions that it ended for their wrong recipients. */
  wornOut: number;
  /** All that it ended or refused because of a limit, those included. */
  limited: number;
}

/** A mail server of the distribution: what to unpack, how it is set up, and what lives in it. */
export interface MailServer {
  name: string;
  packages: readonly string[];
  users: readonly User[];
  listeners: readonly Listener[];
  mailboxes: readonly Mailbox[];
  bursts: readonly Burst[];
  /** Milliseconds after which greylisted clients are accepted. */
  greylistMs: number;
  /** Files of its file system, by absolute path. */
  files(port: number): Record<string, string>;
  /** Shell commands, run as root in its own file system, that end with the server running in the background. */
  start: string;
  /** Reads the log lines of a period about the sessions with the listener of `host`. */
  read(log: string, listener: Listener): LogReading;
}

/** The listener number `n` of a server, for `NAME.test` and further domains. `net` is the server's own `127.0.x`. */
export function listener(net: string, n: number, name: string, further: readonly string[] = []): Listener {
  return { ip: `${net}.${n}`, host: `mx.${name}.test`, domains: [`${name}.test`, ...further] };
}

/** Number of lines of `log` by session, which is `pattern`'s first group; lines that do not match are ignored. */
export function countBy(log: string, pattern: RegExp): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of log.split("\n")) {
    const session = pattern.exec(line)?.[1];
    if (session !== undefined) counts.set(session, (counts.get(session) ?? 0) + 1);
  }
  return counts;
}
