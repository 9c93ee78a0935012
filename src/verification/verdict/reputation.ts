import type { ParsedAddress } from "../address/address.ts";
import type { Evidence } from "../evidence.ts";
import { aliasServiceOf } from "../lists/alias-services.ts";
import { exchangerOwnersOf } from "../lists/mx-hosts.ts";
import { suggestAddress } from "../suggest/suggest.ts";

/**
 * Signals of reputation and the penalty of each, from a score of 100. They come from the address, the DNS and the lists
 * only: results of probing must not show on a tier that does not probe. No signal that an honest address can have makes the
 * risk high by itself. Nor do all signals together that a small company's address can have: `low_reputation` can cost a
 * user of this service a customer.
 */
export const SIGNAL_PENALTY = {
  invalid_format: 100,
  domain_cannot_receive: 100,
  disposable_domain: 70,
  /** Mail goes to a parking service, which accepts everything, or nowhere: it is not read. */
  parked_domain: 65,
  /**
   * Similar to a large mailbox provider: a typing error, or registered to catch typing errors. It may also be honest, since
   * names are similar by chance. So with the weak signals of one small domain it must not make the risk high.
   */
  typo_domain: 35,
  /** Some of the mail exchangers are a throw-away service's; where all are, the domain is disposable. */
  disposable_mx: 40,
  /** Listed by a domain blocklist that the operator configured. Lists err, so that this alone is not a high risk. */
  listed_domain: 40,
  random_looking_local_part: 30,
  /** A top-level domain that was given away free and is abused far beyond its share. */
  abused_tld: 20,
  /** Mail would go to the address record: legal (RFC 5321 §5.1), and rare where people have mailboxes. */
  implicit_mx: 20,
  role_address: 15,
  digits_only_local_part: 10,
  /** Many small companies have none and get along: together they must not move a risk by themselves. */
  no_spf: 3,
  no_dmarc: 2,
  free_provider: 0,
  /** The alias of one person's mailbox, for as long as that person wants: never disposable. */
  alias_service: 0,
} as const;

export type Signal = keyof typeof SIGNAL_PENALTY;

export interface Reputation {
  /** 0 to 100, 100 is best. */
  score: number;
  /** `low` from 70, `medium` from 40, else `high`. */
  risk: "low" | "medium" | "high";
  signals: Signal[];
}

/** Freenom's five, and the generic ones that abuse reports name year after year. */
const ABUSED_TLDS = new Set(["tk", "ml", "ga", "cf", "gq", "cfd", "sbs", "icu", "bond", "cyou", "rest"]);

/**
 * Looks like a generator wrote it: long, one run of ASCII letters and digits, and either digits strewn between letters
 * or hardly a vowel. `j.smith1984`, `krzysztof` and `mschwarz` do not; a hash or a base-36 token does.
 */
export function looksRandom(local: string): boolean {
  // Most are shorter.
  if (local.length < 12) return false;
  const base = local.toLowerCase().replace(/\+.*$/s, "");
  if (!/^[a-z0-9]{12,64}$/.test(base)) return false;
  const changes = base.match(/[a-z](?=[0-9])|[0-9](?=[a-z])/g)?.length ?? 0;
  if (changes >= 5) return true;
  const letters = base.replace(/[0-9]/g, "");
  const vowels = letters.match(/[aeiouy]/g)?.length ?? 0;
  return letters.length >= 12 && vowels / letters.length < 0.1;
}

/** An ordinary local part: no signal. */
const PLAIN_LOCAL: readonly Signal[] = [];
const RANDOM_LOCAL: readonly Signal[] = ["random_looking_local_part"];
const DIGITS_LOCAL: readonly Signal[] = ["digits_only_local_part"];
const RANDOM_DIGITS_LOCAL: readonly Signal[] = [...RANDOM_LOCAL, ...DIGITS_LOCAL];

/**
 * The signals of the local part itself. Two addresses of a domain with the same evidence differ in no other signal. Equal
 * signals are the same array, so that they can be compared by identity.
 */
export function localSignals(local: string): readonly Signal[] {
  const digits = /^[0-9]{4,}$/.test(local);
  if (looksRandom(local)) return digits ? RANDOM_DIGITS_LOCAL : RANDOM_LOCAL;
  return digits ? DIGITS_LOCAL : PLAIN_LOCAL;
}

const PLAIN_NAME: readonly Signal[] = [];
const TYPO_NAME: readonly Signal[] = ["typo_domain"];
const ABUSED_NAME: readonly Signal[] = ["abused_tld"];
const TYPO_ABUSED_NAME: readonly Signal[] = [...TYPO_NAME, ...ABUSED_NAME];
const ALIAS_NAME: readonly Signal[] = ["alias_service"];
const NO_HOSTS: readonly string[] = [];

/**
 * The signals of the domain's name. Addresses of two domains with the same evidence differ only in these. Equal signals are
 * one array object. `typo_domain` is present exactly if there is a `did_you_mean`.
 */
export function nameSignals(address: Pick<ParsedAddress, "local" | "domain">): readonly Signal[] {
  const { domain } = address;
  // Alias services are not near misses, and none is below an abused top-level domain.
  if (aliasServiceOf(domain, NO_HOSTS) !== null) return ALIAS_NAME;
  const abused = ABUSED_TLDS.has(domain.slice(domain.lastIndexOf(".") + 1));
  if (suggestAddress(address) !== null) return abused ? TYPO_ABUSED_NAME : TYPO_NAME;
  return abused ? ABUSED_NAME : PLAIN_NAME;
}

function addressSignals(address: ParsedAddress): Signal[] {
  const ofLocal = localSignals(address.local);
  const ofName = nameSignals(address);
  const signals: Signal[] = [];
  if (ofName.includes("typo_domain")) signals.push("typo_domain");
  if (ofLocal.includes("random_looking_local_part")) signals.push("random_looking_local_part");
  if (ofName.includes("abused_tld")) signals.push("abused_tld");
  if (ofLocal.includes("digits_only_local_part")) signals.push("digits_only_local_part");
  if (ofName.includes("alias_service")) signals.push("alias_service");
  return signals;
}

const CANNOT_RECEIVE = new Set<string>(["domain_not_found", "no_mx", "null_mx", "mx_unresolvable"]);

function evidenceSignals(evidence: Evidence): Signal[] {
  const signals: Signal[] = [];
  if (CANNOT_RECEIVE.has(evidence.mx.status)) signals.push("domain_cannot_receive");
  if (evidence.mx.status === "implicit") signals.push("implicit_mx");
  if (evidence.disposable.listed) signals.push("disposable_domain");
  if (evidence.role !== null) signals.push("role_address");
  if (evidence.freeProvider) signals.push("free_provider");
  return [...signals, ...domainSignals(evidence)];
}

/** Signals against the domain, if it accepts mail at all. */
function domainSignals({ mx, domain }: Evidence): Signal[] {
  if (mx.status !== "ok" && mx.status !== "implicit") return [];
  const signals: Signal[] = [];
  const { parked, throwAway } = exchangerOwnersOf(mx.hosts);
  if (parked || domain?.parkedAddress) signals.push("parked_domain");
  if (throwAway === "some") signals.push("disposable_mx");
  if (domain && domain.listedBy !== null) signals.push("listed_domain");
  if (domain?.spf === false) signals.push("no_spf");
  if (domain?.dmarc === false) signals.push("no_dmarc");
  if (aliasServiceOf("", mx.hosts) !== null) signals.push("alias_service");
  return signals;
}

/** Reputation of an address without SMTP. `address` null: malformed. */
export function reputationOf(address: ParsedAddress | null, evidence: Evidence | null): Reputation {
  const signals: Signal[] = address === null ? ["invalid_format"] : addressSignals(address);
  if (evidence !== null)
    for (const signal of evidenceSignals(evidence)) if (!signals.includes(signal)) signals.push(signal);
  const penalty = signals.reduce((sum, signal) => sum + SIGNAL_PENALTY[signal], 0);
  const score = Math.max(0, 100 - penalty);
  return { score, risk: score >= 70 ? "low" : score >= 40 ? "medium" : "high", signals };
}
