import type { Stage } from "../smtp/outcome.ts";

/** Who is at fault for a check that did not end in `accepted`. Only `recipient` may lead to `invalid`. */
export type Fault = "recipient" | "their_server" | "our_address" | "our_network";

/** How far a check may go: `unprobed` ends before SMTP (tiers without probing, blocklisted domains). */
export type Scope = "probed" | "unprobed";

/**
 * How a check meets a busy site: `single` waits its turn until its time is up; `bulk` leaves at once when the line is
 * long; `patient` stands in line for as long as it takes, since that is not against its time.
 */
export type CheckMode = "single" | "bulk" | "patient";

export type MxStatus =
  | "ok"
  | "implicit"
  | "no_mx"
  | "null_mx"
  /** There are exchangers, and it is proven of all of them that they cannot exist. */
  | "mx_unresolvable"
  | "domain_not_found"
  | "dns_error"
  | "skipped";

export interface MxEvidence {
  status: MxStatus;
  /** Mail exchangers in order of preference; for `implicit` the domain itself. At most LIMITS.check.mxHostsReported. */
  hosts: string[];
  /** The preference of each of `hosts`. Absent in entries that an earlier build kept. */
  preferences?: number[];
  /** Provider of the site, e.g. `google`; null when unknown. */
  provider: string | null;
  /** Of an answer that leads to no host: seconds it may be kept, by the DNS, and 0 when it may not. Else 0. */
  ttlS: number;
  fault: Fault | null;
}

/** The class of an SMTP probe's end. `accepted` is the only good one; each other has one row in the verdict table. */
export type SmtpClass =
  | "accepted"
  | "mailbox_not_found"
  | "mailbox_disabled"
  | "mailbox_full"
  | "refused_by_policy"
  | "sender_blocked"
  | "greylisted"
  | "rate_limited_by_server"
  | "smtp_protocol_error"
  | "no_connect"
  | "timeout"
  | "our_network"
  | "provider_unverifiable";

/** `put_off`: the catch-all probe got a temporary reply, of which the API says `inconclusive`. */
export type CatchAll = "accepted" | "refused" | "inconclusive" | "put_off" | "not_probed";

export interface SmtpEvidence {
  class: SmtpClass;
  fault: Fault | null;
  /** Where the dialogue ended. */
  stage: Stage;
  /** SMTP reply code, 0 when no reply came. */
  code: number;
  /** Enhanced status code (RFC 3463), e.g. `5.1.1`. */
  enhancedCode: string | null;
  /** The reply with addresses redacted, `…` at its end where it was cut (`classify/redact`); else what failed, in words. */
  reply: string;
  /** Id of the classification rule that decided. */
  rule: string;
  mxHost: string;
  /** Name of the way it went out (source address or proxy), "" when nothing went out. */
  path: string;
  /** False: our own house was not in order on that way (preflight), so that no refusal there may condemn anybody. */
  trusted: boolean;
  /**
   * Seconds after which asking again makes sense: named by the server, or by the breaker; null: nobody said. Of an accepted
   * one, after which the stranger may be asked again who was put off.
   */
  retryAfterS: number | null;
  latencyMs: number;
  tls: boolean;
  catchAll: CatchAll;
}

/** What the DNS says of a domain beside its exchangers. null: not asked, or nobody answered in time. */
export interface DomainEvidence {
  /** There is an SPF record (RFC 7208). */
  spf: boolean | null;
  /** There is a DMARC record, the domain's or its organisation's (RFC 7489). */
  dmarc: boolean | null;
  /** The first blocklist zone that has the domain; null: none, or none was asked. */
  listedBy: string | null;
  /** Without MX records, its addresses are a parking service's. */
  parkedAddress: boolean;
}

/** Which of the signals there may be are asked for. */
export interface RequestedSignals {
  spf: boolean;
  dmarc: boolean;
}

/** Whether all that was asked for was answered, and in time. Of blocklists nobody can tell: who is silent lists nobody. */
export function areSignalsComplete({ spf, dmarc }: DomainEvidence, asked: RequestedSignals): boolean {
  return (spf !== null || !asked.spf) && (dmarc !== null || !asked.dmarc);
}

/** Everything a check learnt about one address. Cached; a verdict is computed from it for each request. */
export interface Evidence {
  /** Layout version; an entry of another version is a miss. */
  v: 2;
  mx: MxEvidence;
  /** `source` names the list; "none" where the domain is on no list. */
  disposable: { listed: boolean; source: string };
  role: string | null;
  freeProvider: boolean;
  /** Absent where nobody was asked. */
  domain?: DomainEvidence;
  /** null: not probed. */
  smtp: SmtpEvidence | null;
}

/**
 * Evidence from its parts, written out in one order. V8 of Node.js 20 gives an object that is spread, and then has a field
 * added, a shape of its own each time: 8,000 shapes for 18,000 rows, whose every later look at a field missed its cache. That of
 * 22 and 24 gives all one shape.
 *
 * @param domain undefined: nobody was asked
 */
export function evidenceOf(
  { v, mx, disposable, freeProvider }: Omit<Evidence, "role" | "smtp" | "domain">,
  role: string | null,
  smtp: SmtpEvidence | null,
  domain: DomainEvidence | undefined,
): Evidence {
  if (domain === undefined) return { v, mx, disposable, role, freeProvider, smtp };
  return { v, mx, disposable, role, freeProvider, smtp, domain };
}
