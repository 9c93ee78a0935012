import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { hash128 } from "../../platform/ids.ts";
import {
  type EvidenceParts,
  FACTS_KIND,
  type FactsFields,
  FINDING_KIND,
  type FindingFields,
  SMTP_FIELDS,
  type SmtpEvidence,
  type SmtpFinding,
} from "./fields.ts";
import type { Kind } from "./kinds.ts";
import { hasOwnId } from "./reply-id.ts";

/** Evidence of a probe, with its latency. */
type ProbedSmtp = SmtpFinding & SmtpEvidence;

/**
 * A half of evidence, interned: the same content is the same object while the interner knows it, and has the same id in
 * every process, always. Immutable.
 */
abstract class Interned {
  #text: string | null = null;
  #id: string | null = null;

  /** The text by the table of fields, without default values. It contains no line end. */
  get text(): string {
    this.#text ??= this.pack();
    return this.#text;
  }

  /** 128 bits of SHA-256 of the text, so that no other text has the same id. */
  get id(): string {
    this.#id ??= hash128(this.text);
    return this.#id;
  }

  /** The interner drops it. An object that is still in use encodes its text again when asked. */
  dropText(): void {
    this.#text = null;
  }

  protected abstract pack(): string;
}

/** Evidence about a domain. Domains with the same evidence share it, so it does not contain their names. */
export class DomainFacts extends Interned {
  readonly mx: FactsFields["mx"];
  readonly disposable: FactsFields["disposable"];
  readonly freeProvider: boolean;
  readonly domain: FactsFields["domain"];
  /** Most domains have one. */
  #evidence: Evidence | Map<MailboxFinding, Evidence> | null = null;

  constructor({ mx, disposable, freeProvider, domain }: FactsFields) {
    super();
    this.mx = mx;
    this.disposable = disposable;
    this.freeProvider = freeProvider;
    this.domain = domain;
  }

  /** Evidence of these facts and the finding, shared by all addresses that have both. */
  evidenceWith(finding: MailboxFinding): Evidence {
    const known = this.#evidence;
    if (known instanceof Evidence && known.finding === finding) return known;
    const found = known instanceof Map ? known.get(finding) : undefined;
    return found ?? this.#share(new Evidence(this, finding, 0, null));
  }

  #share(evidence: Evidence): Evidence {
    const known = this.#evidence;
    if (known === null) this.#evidence = evidence;
    else if (known instanceof Evidence)
      this.#evidence = new Map([known, evidence].map((one) => [one.finding, one]));
    else {
      if (known.size >= LIMITS.check.findingsPerFacts) known.clear();
      known.set(evidence.finding, evidence);
    }
    return evidence;
  }

  protected override pack(): string {
    return JSON.stringify(FACTS_KIND.pack(this));
  }
}

/** Evidence about a mailbox, without the latency and a reply with an id of its own. */
export class MailboxFinding extends Interned {
  readonly role: string | null;
  readonly smtp: SmtpFinding | null;
  #probed: ProbedSmtp | null = null;

  constructor({ role, smtp }: FindingFields) {
    super();
    this.role = role;
    this.smtp = smtp;
  }

  /**
   * The probe's evidence as one object, with the address's own latency and reply. It copies an object that has all fields,
   * which takes V8 30 ns; a frozen object or one that lacks a field takes 800.
   */
  probed(latencyMs: number, ownReply: string | null): ProbedSmtp | null {
    if (this.smtp === null) return null;
    this.#probed ??= { ...this.smtp, latencyMs };
    return { ...this.#probed, reply: ownReply ?? this.smtp.reply, latencyMs };
  }

  protected override pack(): string {
    return JSON.stringify(FINDING_KIND.pack(this));
  }
}

/**
 * All evidence of a check about one address: the parts shared with others, and its own. Cached; a verdict is computed from
 * it for each request. Created by `evidenceOf`, and immutable.
 */
export class Evidence {
  readonly facts: DomainFacts;
  readonly finding: MailboxFinding;
  /** Time that the server took, in milliseconds; 0 if it was not asked, and in evidence common to several addresses. */
  readonly latencyMs: number;
  /** The server's reply, if it contains an id that no other address has; null: the finding's reply. */
  readonly ownReply: string | null;
  #smtp: ProbedSmtp | null = null;

  constructor(facts: DomainFacts, finding: MailboxFinding, latencyMs: number, ownReply: string | null) {
    this.facts = facts;
    this.finding = finding;
    this.latencyMs = latencyMs;
    this.ownReply = ownReply;
  }

  get mx(): FactsFields["mx"] {
    return this.facts.mx;
  }

  get disposable(): FactsFields["disposable"] {
    return this.facts.disposable;
  }

  get freeProvider(): boolean {
    return this.facts.freeProvider;
  }

  /** undefined: not asked. */
  get domain(): FactsFields["domain"] {
    return this.facts.domain;
  }

  get role(): string | null {
    return this.finding.role;
  }

  /** null: not probed. */
  get smtp(): ProbedSmtp | null {
    this.#smtp ??= this.finding.probed(this.latencyMs, this.ownReply);
    return this.#smtp;
  }

  /** True when the evidence and the latency are equal. */
  equals(other: Evidence): boolean {
    return (
      this.facts === other.facts &&
      this.finding === other.finding &&
      this.ownReply === other.ownReply &&
      this.latencyMs === other.latencyMs
    );
  }

  /** The same, learnt after another time. */
  after(latencyMs: number): Evidence {
    if (this.finding.smtp === null || latencyMs === this.latencyMs) return this;
    return new Evidence(this.facts, this.finding, latencyMs, this.ownReply);
  }

  /** The same, with further evidence about the domain. */
  withDomain(domain: FactsFields["domain"]): Evidence {
    const known = factsOf(this.facts, domain);
    if (this.finding.smtp === null) return known.evidenceWith(this.finding);
    return new Evidence(known, this.finding, this.latencyMs, this.ownReply);
  }

  /** The evidence common to all addresses with the same facts and finding. */
  common(): Evidence {
    return this.facts.evidenceWith(this.finding);
  }

  /** The form that memory caches: one object for all that differ only in latency, unless it has a reply of its own. */
  shared(): Evidence {
    if (this.ownReply === null) return this.common();
    return this.#smtp === null ? this : new Evidence(this.facts, this.finding, this.latencyMs, this.ownReply);
  }

  /** True when both are equal except for the latency and a reply of their own. */
  isLike(other: Evidence): boolean {
    return isSame(this.facts, other.facts) && isSame(this.finding, other.finding);
  }
}

/** By identity, or by id: an object that the interner has forgotten may exist twice, with one id. */
function isSame(one: Interned, other: Interned): boolean {
  return one === other || one.id === other.id;
}

/** Objects by the text that they are written as. */
class Interner<P, T extends Interned> {
  readonly #kind: Kind<P>;
  readonly #make: (parts: P) => T;
  readonly #known: LRUCache<string, T>;

  constructor(max: number, kind: Kind<P>, make: (parts: P) => T) {
    this.#kind = kind;
    this.#make = make;
    this.#known = new LRUCache<string, T>({ max, dispose: (gone) => gone.dropText() });
  }

  /** @throws TypeError, SyntaxError for a text that is damaged, has another form, or has a value this build does not know */
  ofText(text: string): T {
    return this.#known.get(text) ?? this.ofParts(this.#kind.read(JSON.parse(text)));
  }

  /** @param parts of which it keeps a copy, where it has to */
  ofParts(parts: P): T {
    const text = JSON.stringify(this.#kind.pack(parts));
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const made = this.#make(this.#kind.read(JSON.parse(text)));
    this.#known.set(text, made);
    return made;
  }
}

const facts = new Interner(LIMITS.check.factsKept, FACTS_KIND, (parts) => new DomainFacts(parts));
const findings = new Interner(LIMITS.check.findingsKept, FINDING_KIND, (parts) => new MailboxFinding(parts));

/** @throws TypeError, SyntaxError for a malformed text, see `Interner.ofText` */
export const factsOfText = (text: string): DomainFacts => facts.ofText(text);
/** @throws TypeError, SyntaxError for a malformed text, see `Interner.ofText` */
export const findingOfText = (text: string): MailboxFinding => findings.ofText(text);

/** Evidence from its facts and finding, and the address's own data. */
export function evidenceFrom(
  facts: DomainFacts,
  finding: MailboxFinding,
  latencyMs: number,
  ownReply: string | null,
): Evidence {
  if (ownReply === null) return facts.evidenceWith(finding).after(latencyMs);
  return new Evidence(facts, finding, latencyMs, ownReply);
}

/** Reads evidence for the store, which knows no values of evidence. */
export const EVIDENCE_CODEC = { factsOfText, findingOfText, evidenceFrom };
export type EvidenceCodec = typeof EVIDENCE_CODEC;

export function factsOf(
  { mx, disposable, freeProvider }: Omit<EvidenceParts, "role" | "smtp" | "domain">,
  domain: EvidenceParts["domain"],
): DomainFacts {
  return facts.ofParts({ mx, disposable, freeProvider, domain } as FactsFields);
}

/** Findings that a thread met last: rows of a list mostly have the one of the row before, and comparing is several times as fast. */
const RECENT_FINDINGS = 8;
const recent: MailboxFinding[] = [];
let oldest = 0;

function findingOf(role: string | null, smtp: SmtpEvidence | null, reply: string): MailboxFinding {
  for (const one of recent) if (one.role === role && saysSame(one.smtp, smtp, reply)) return one;
  const found = findings.ofParts({ role, smtp: smtp === null ? null : ({ ...smtp, reply } as SmtpFinding) });
  recent[oldest] = found;
  oldest = (oldest + 1) % RECENT_FINDINGS;
  return found;
}

function saysSame(one: SmtpFinding | null, other: SmtpEvidence | null, reply: string): boolean {
  if (one === null || other === null) return one === other;
  if (one.reply !== reply) return false;
  for (const name of SMTP_FIELDS) if (one[name] !== other[name] && name !== "reply") return false;
  return true;
}

/** Evidence of facts that are interned already. */
export function evidenceOfFacts(
  known: DomainFacts,
  role: string | null,
  smtp: SmtpEvidence | null,
): Evidence {
  if (smtp === null) return known.evidenceWith(findingOf(role, null, ""));
  const ownReply = hasOwnId(smtp.reply) ? smtp.reply : null;
  return new Evidence(
    known,
    findingOf(role, smtp, ownReply === null ? smtp.reply : ""),
    smtp.latencyMs,
    ownReply,
  );
}

export function evidenceOf(parts: EvidenceParts): Evidence {
  return evidenceOfFacts(factsOf(parts, parts.domain), parts.role, parts.smtp);
}

/** The same, but for `change`. */
export function evidenceBut(
  { mx, disposable, freeProvider, domain, role, smtp }: Evidence,
  change: Partial<EvidenceParts>,
): Evidence {
  return evidenceOf({ mx, disposable, freeProvider, domain, role, smtp, ...change });
}
