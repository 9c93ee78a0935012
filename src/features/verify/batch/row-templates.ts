import { LRUCache } from "lru-cache";
import { DomainName, nextMemoNumber } from "../../../verification/address/domain.ts";
import { isUncharged } from "../../../verification/verdict/verdict.ts";
import type { AddressQuestion, DomainStanding } from "../answer/address-question.ts";
import type { EvidenceFinding } from "../answer/evidence-finding.ts";
import type { Examiner } from "../answer/examine.ts";
import type { VerificationResult } from "../answer/verification-result.ts";
import { TIMES_START } from "./row-times.ts";
import {
  type LocalPartFacts,
  localPartFactsOf,
  matchesTemplate,
  type TemplateTraits,
  templateKeyOf,
} from "./template-match.ts";

/** The common part of the results of rows whose evidence differs only in latency and times. Its texts are ASCII. */
export interface RowTemplate {
  /** Result of the row that the template was made of. */
  readonly result: VerificationResult;
  readonly charged: boolean;
  /**
   * JSON after the address, up to the normal form. A text that is not an address has no normal form: then up to the
   * latency.
   */
  readonly afterEmail: string;
  /** JSON from the normal form to the latency; "" without a normal form. */
  readonly afterNormalized: string;
  /** Between the latency and the times of the cache (row-times.ts). */
  readonly afterLatency: string;
}

/** A template, and the traits that a row must share with the row it was made from. */
interface KnownTemplate extends TemplateTraits {
  /** `DomainName.templatesMemoNumber` of each domain that has this template alone. */
  memoNumber: number;
  template: RowTemplate;
}

/** Maximum sizes. */
export interface TemplateLimits {
  /** Templates of all domains. */
  templates: number;
  /** Maximum references from domains: one a template, and one for each domain that has several. */
  domains: number;
  perDomain: number;
}

/** The start of a TemplatedRow's JSON, before its address. */
export const JSON_START = '{"email":"';

const ASCII = /^[\x20-\x7e]*$/;
const NORMALIZED = '","normalized_email":"';
const LATENCY = '"latency_ms":';

/** null: it cannot be cut into a template. */
function templateOf(result: VerificationResult, charged: boolean, email: string): RowTemplate | null {
  // A suggestion contains the local part, so such a result cannot be a template.
  if (result.email !== email || result.did_you_mean !== null || result.retry_at !== null) return null;
  const json = JSON.stringify(result);
  // A quote within a string is escaped: these can only be the members' names.
  const latencyAt = json.indexOf(LATENCY) + LATENCY.length;
  const restAt = latencyAt + String(result.checks.smtp.latency_ms).length;
  const emailEnd = JSON_START.length + email.length;
  const normalized = result.normalized_email;
  const normalizedAt = normalized === null ? latencyAt : emailEnd + NORMALIZED.length;
  const afterEmail = json.slice(emailEnd, normalizedAt);
  const afterNormalized = normalized === null ? "" : json.slice(normalizedAt + normalized.length, latencyAt);
  const afterLatency = json.slice(restAt, json.indexOf(TIMES_START));
  return ASCII.test(afterEmail) && ASCII.test(afterNormalized) && ASCII.test(afterLatency)
    ? { result, charged, afterEmail, afterNormalized, afterLatency }
    : null;
}

/** Templates by domain, and by their traits: each is made once, for all domains with the same answers. */
export class RowTemplates {
  readonly #examiner: Pick<Examiner, "answer">;
  readonly #limits: TemplateLimits;
  /**
   * By `templatesMemoNumber` of a domain. Domains with one template, nearly all, share its entry; one with several has a list
   * of its own.
   */
  readonly #byDomain: LRUCache<number, KnownTemplate | KnownTemplate[]>;
  /** Templates by traits, see `templateKeyOf`. Emptied when full: a bound, not a policy. */
  readonly #byKey = new Map<string, KnownTemplate>();
  /** The domain of a text that is not an address. */
  readonly #noDomain = new DomainName("");
  #replaced = 0;

  constructor(examiner: Pick<Examiner, "answer">, limits: TemplateLimits) {
    this.#examiner = examiner;
    this.#limits = limits;
    this.#byDomain = new LRUCache({ max: limits.domains });
  }

  /** Number of templates, and of references from domains. */
  size(): { readonly templates: number; readonly domainReferences: number } {
    return { templates: this.#byKey.size, domainReferences: this.#byDomain.size };
  }

  /**
   * A template of the row's domain, or else of any domain that is answered alike, or else a new one.
   * @returns null: the row's result cannot be cut into one
   */
  templateFor(question: AddressQuestion, finding: EvidenceFinding, email: string): RowTemplate | null {
    const name = question.address?.name ?? this.#noDomain;
    const facts = localPartFactsOf(question);
    const own = this.#ofDomain(name, question, finding, facts);
    if (own !== null) return own;
    const key = templateKeyOf(question, finding, facts);
    const known = this.#byKey.get(key);
    const one = known ?? this.#make(question, finding, email, facts);
    if (one === null) return null;
    if (known === undefined) this.#keep(key, one);
    this.#keepForDomain(name, one);
    return one.template;
  }

  #ofDomain(
    { templatesMemoNumber }: DomainName,
    standing: DomainStanding,
    finding: EvidenceFinding,
    facts: LocalPartFacts,
  ): RowTemplate | null {
    const own = this.#byDomain.get(templatesMemoNumber);
    if (own === undefined) return null;
    if (!Array.isArray(own)) return matchesTemplate(own, standing, finding, facts) ? own.template : null;
    for (const one of own) if (matchesTemplate(one, standing, finding, facts)) return one.template;
    return null;
  }

  #make(
    question: AddressQuestion,
    finding: EvidenceFinding,
    email: string,
    facts: LocalPartFacts,
  ): KnownTemplate | null {
    const { decision, result } = this.#examiner.answer(question, finding);
    const charged = question.address !== null && !isUncharged(decision.reason);
    const template = templateOf(result, charged, email);
    if (template === null) return null;
    const { blocked, overridden, scope } = question;
    const evidence = finding.entry?.evidence.common() ?? null;
    const { cached } = finding;
    const standing = { blocked, overridden, scope };
    return { memoNumber: nextMemoNumber(), template, evidence, standing, cached, ...facts };
  }

  #keep(key: string, one: KnownTemplate): void {
    if (this.#byKey.size >= this.#limits.templates) {
      this.#byKey.clear();
      // They would keep the templates.
      this.#byDomain.clear();
    }
    this.#byKey.set(key, one);
  }

  #keepForDomain(name: DomainName, one: KnownTemplate): void {
    const others = this.#byDomain.get(name.templatesMemoNumber);
    if (others === undefined) {
      this.#byDomain.set(one.memoNumber, one);
      name.templatesMemoNumber = one.memoNumber;
    } else if (!Array.isArray(others)) {
      name.templatesMemoNumber = nextMemoNumber();
      this.#byDomain.set(name.templatesMemoNumber, [others, one]);
    } else if (others.length < this.#limits.perDomain) others.push(one);
    else others[++this.#replaced % others.length] = one;
  }
}
