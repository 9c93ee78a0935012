import { LIMITS } from "../config/limits/limits.ts";
import type { ParsedAddress } from "../verification/address/address.ts";
import { DomainName } from "../verification/address/domain.ts";
import type { Classification, SelfIdentity } from "../verification/classify/classify.ts";
import { type Evidence, evidenceBut } from "../verification/evidence.ts";
import { probedProviderOf } from "../verification/lists/site.ts";
import { type Judgeable, rejudge, type Unjudged } from "../verification/verdict/rejudge.ts";
import { decide } from "../verification/verdict/verdict.ts";

/** Evidence to be judged again. */
export interface StoredEvidence {
  evidence: Evidence;
  /** null: not known, as the cache holds no address; it weighs in the reputation only. */
  address: ParsedAddress | null;
}

export interface ReclassifiedExample {
  from: string;
  to: string;
  rule: string;
  /** The reply as evidence keeps it, without addresses. */
  reply: string;
}

export interface Reclassification {
  read: number;
  judged: number;
  changed: number;
  unjudged: Record<Unjudged | "other_version" | "orphan" | "not_probed", number>;
  /** "old → new", by how often. */
  classes: Map<string, number>;
  verdicts: Map<string, number>;
  rules: Map<string, number>;
  examples: ReclassifiedExample[];
}

/** Replaces an unknown address: its reputation is an ordinary one. */
export const PLACEHOLDER_ADDRESS: ParsedAddress = {
  local: "jane.doe",
  domain: "example.com",
  name: new DomainName("example.com"),
  normalised: "jane.doe@example.com",
  cacheKey: "jane.doe@example.com",
};

/** Judges evidence again, piece by piece, and counts what would change. Bounded by LIMITS.reclassify, however much there is. */
export class Reclassifier {
  readonly report: Reclassification = {
    ...{ read: 0, judged: 0, changed: 0 },
    unjudged: {
      ...{ no_reply: 0, not_believed: 0, cut: 0, named_us: 0 },
      ...{ other_version: 0, orphan: 0, not_probed: 0 },
    },
    ...{ classes: new Map(), verdicts: new Map(), rules: new Map(), examples: [] },
  };
  readonly #selfAt: (path: string) => SelfIdentity;
  readonly #examplesMax: number;

  /** @param selfAt our names and addresses on a route; "": on any */
  constructor(selfAt: (path: string) => SelfIdentity, examplesMax: number) {
    this.#selfAt = selfAt;
    this.#examplesMax = examplesMax;
  }

  skip(why: "other_version" | "orphan" | "not_probed"): void {
    this.report.read += 1;
    this.report.unjudged[why] += 1;
  }

  /** @returns the evidence as today's rules have it where that is different; else null */
  judge({ evidence, address }: StoredEvidence): Evidence | null {
    const { smtp } = evidence;
    if (smtp === null) {
      this.skip("not_probed");
      return null;
    }
    const { report } = this;
    report.read += 1;
    const found = rejudge(smtp, probedProviderOf(evidence), this.#selfAt(smtp.path));
    if (found.kind === "unjudged") {
      report.unjudged[found.why] += 1;
      return null;
    }
    report.judged += 1;
    if (found.kind === "same") return null;
    const judged = evidenceBut(evidence, { smtp: { ...smtp, ...found.ruling } });
    report.changed += 1;
    this.#note(smtp, found.ruling, verdictOf(evidence, address), verdictOf(judged, address));
    return judged;
  }

  #note(smtp: Judgeable, ruling: Classification, before: string, after: string): void {
    const { classes, verdicts, rules, examples } = this.report;
    if (smtp.class !== ruling.class) count(classes, `${smtp.class} → ${ruling.class}`);
    if (before !== after) count(verdicts, `${before} → ${after}`);
    if (smtp.rule !== ruling.rule) count(rules, `${smtp.rule} → ${ruling.rule}`);
    if (examples.length < this.#examplesMax)
      examples.push({ from: before, to: after, rule: `${smtp.rule} → ${ruling.rule}`, reply: smtp.reply });
  }
}

const REST = "others";

function count(counts: Map<string, number>, name: string): void {
  const key = counts.has(name) || counts.size < LIMITS.reclassify.transitions ? name : REST;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function verdictOf(evidence: Evidence, address: ParsedAddress | null): string {
  const known = {
    address: address ?? PLACEHOLDER_ADDRESS,
    evidence,
    failure: null,
    probing: true,
    blocked: false,
  };
  const { verdict, reason } = decide(known);
  return `${verdict}/${reason}`;
}
