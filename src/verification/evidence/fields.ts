import type { Stage } from "../../smtp/wire/outcome.ts";
import {
  flag,
  integer,
  later,
  listOf,
  nullable,
  number,
  oneOf,
  optional,
  type PartsOf,
  type StructOf,
  struct,
  text,
} from "./kinds.ts";

/**
 * Every field of evidence, once. Types, equality, and the texts for threads and Redis follow from this table: a new field
 * is one line here (`later`, with its value in texts of earlier builds), and the code that fills or shows it.
 */

/** The party at fault for a check that did not end in `accepted`. Only `recipient` may lead to `invalid`. */
const fault = nullable(oneOf("recipient", "their_server", "our_address", "our_network"));

const MX = {
  status: oneOf(
    ...(["ok", "implicit", "no_mx", "null_mx"] as const),
    /** There are exchangers, and it is proven of all of them that they cannot exist. */
    "mx_unresolvable",
    ...(["domain_not_found", "dns_error", "skipped"] as const),
  ),
  /** Mail exchangers in order of preference; for `implicit` the domain itself. At most LIMITS.check.mxHostsReported. */
  hosts: listOf(text),
  /** The preference of each of `hosts`; empty where it was not noted. */
  preferences: later(listOf(integer)),
  /** Provider of the site, e.g. `google`; null when unknown. */
  provider: nullable(text),
  /** If the DNS answer leads to no host: seconds that it may be cached, 0 when it may not be. Otherwise 0. */
  ttlS: number.or(0),
  fault,
};

/** DNS records of a domain besides its exchangers. null: not requested, or not answered in time. */
const DOMAIN = {
  /** There is an SPF record (RFC 7208). */
  spf: nullable(flag),
  /** There is a DMARC record, the domain's or its organisation's (RFC 7489). */
  dmarc: nullable(flag),
  /** The first blocklist zone that lists the domain; null: none does, or none was asked. */
  listedBy: nullable(text),
  /** True when the domain has no MX records, and its addresses are a parking service's. */
  parkedAddress: flag.or(false),
};

/** Evidence about the domain. */
const FACTS = {
  mx: struct(MX, ({ hosts, preferences }) => preferences.length === 0 || preferences.length === hosts.length),
  /** `source` names the list; "none" where the domain is on no list. */
  disposable: struct({ listed: flag.or(false), source: text.or("none") }),
  freeProvider: flag.or(false),
  /** undefined: not asked. */
  domain: later(optional(struct(DOMAIN))),
};

const SMTP = {
  /** The class of an SMTP probe's end. `accepted` is the only good one; each other has one row in the verdict table. */
  class: oneOf(
    ...(["accepted", "mailbox_not_found", "mailbox_disabled", "mailbox_full", "refused_by_policy"] as const),
    ...(["sender_blocked", "greylisted", "rate_limited_by_server", "smtp_protocol_error"] as const),
    ...(["no_connect", "timeout", "our_network", "provider_unverifiable"] as const),
  ),
  fault,
  /** The stage at which the dialogue ended. */
  stage: oneOf<Stage>("dns", "connect", "greeting", "ehlo", "starttls", "mail", "rcpt").or("rcpt"),
  /** SMTP reply code, 0 when no reply came. */
  code: number.or(0),
  /** Enhanced status code (RFC 3463), e.g. `5.1.1`. */
  enhancedCode: nullable(text),
  /** The reply with addresses redacted, `…` at its end where it was cut (`classify/redact`); else what failed, in words. */
  reply: text.or(""),
  /** Id of the classification rule that decided. */
  rule: text,
  mxHost: text.or(""),
  /** Name of the egress route (source address or proxy), "" when nothing went out. */
  path: text.or(""),
  /** False: the self-check failed on that route, so that no refusal there may condemn an address. */
  trusted: flag.or(true),
  /**
   * Seconds after which asking again makes sense: named by the server, or by the breaker; null: not named. Of an accepted
   * address, after which a catch-all probe that was put off may be sent again.
   */
  retryAfterS: nullable(number),
  tls: flag.or(false),
  /** `put_off`: the catch-all probe got a temporary reply, which the API reports as `inconclusive`. */
  catchAll: oneOf("accepted", "refused", "inconclusive", "put_off", "not_probed"),
};

/** Evidence about the mailbox. */
const FINDING = {
  role: nullable(text),
  /** null: not probed. */
  smtp: nullable(struct(SMTP)),
};

export const FACTS_KIND = struct(FACTS);
export const FINDING_KIND = struct(FINDING);
export const SMTP_FIELDS = Object.keys(SMTP) as readonly (keyof typeof SMTP)[];

export type FactsFields = StructOf<typeof FACTS>;
export type FindingFields = StructOf<typeof FINDING>;
export type MxStatus = FactsFields["mx"]["status"];
/** Evidence of a probe without its latency. */
export type SmtpFinding = StructOf<typeof SMTP>;

/** The parts from which the code that learns a fact makes it. */
export type MxEvidence = PartsOf<typeof MX>;
export type DomainEvidence = PartsOf<typeof DOMAIN>;
export type SmtpEvidence = PartsOf<typeof SMTP> & { readonly latencyMs: number };
export type EvidenceParts = Omit<PartsOf<typeof FACTS>, "mx"> & {
  readonly mx: MxEvidence;
  readonly role: string | null;
  /** null: not probed. */
  readonly smtp: SmtpEvidence | null;
};

export type SmtpClass = SmtpFinding["class"];
export type CatchAll = SmtpFinding["catchAll"];
export type Fault = NonNullable<SmtpFinding["fault"]>;
