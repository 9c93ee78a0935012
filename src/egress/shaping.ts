import { createRequire } from "node:module";
import * as v from "valibot";
import { LIMITS } from "../config/limits/limits.ts";
import type { RouteSelection } from "../smtp/wire/egress-routes.ts";
import type { SitePolicy } from "../smtp/wire/policy.ts";
import type shapingJson from "./shaping.json";

export interface Shaping {
  /** How to treat a site; one without an entry of its own or a known provider is treated by the default. */
  policyFor(provider: string | null, site?: string): SitePolicy;
  /** The site accepts, or refuses, every address at RCPT: a probe there says nothing about a mailbox. */
  isUnverifiable(provider: string | null, site?: string): boolean;
  /** Names of exchangers by provider, beside those that are known. */
  mx: Readonly<Record<string, readonly string[]>>;
  routes: RouteSelection;
}

const count = (max: number) => {
  const message = `must be a whole number from 1 to ${max}`;
  return v.pipe(v.number(message), v.integer(message), v.minValue(1, message), v.maxValue(max, message));
};

const TLS = ["never", "opportunistic", "required"] as const;
const HABITS = ["accepts_all", "refuses_all"] as const;

export const POLICY_FIELDS = {
  maxConnections: count(1_000),
  /** null: as its servers show, and have taught. */
  transactionsPerSession: v.nullable(count(10_000)),
  rejectionsPerSession: v.nullable(count(1_000)),
  tls: v.picklist(TLS, `must be one of ${TLS.join(", ")}`),
  pipelineDepthMax: count(LIMITS.smtp.pipelineDepthMax),
};

/** `none` removes the habit of the entry below. */
export const habitField = v.picklist([...HABITS, "none"], `must be one of ${HABITS.join(", ")}, none`);

const PolicySchema = v.strictObject(POLICY_FIELDS);

/** Every figure cites its source. */
const source = v.pipe(v.string(), v.minLength(10));

const ShapingSchema = v.strictObject({
  default: v.strictObject({ ...PolicySchema.entries, source }),
  providers: v.record(
    v.string(),
    v.strictObject({
      ...v.partial(PolicySchema).entries,
      habit: v.optional(v.picklist(HABITS)),
      source,
    }),
  ),
});

/** The operator's entry for a site; absent fields keep their values. */
export interface OperatorShapingEntry extends Partial<SitePolicy> {
  habit?: v.InferOutput<typeof habitField>;
  /** Names of egress routes, at least one, all different. */
  ways?: string[];
  /** For a provider: further names of its exchangers, as in `PROVIDER_MX_SUFFIXES`. */
  mx?: string[];
}

/** The operator's overrides of `shaping.json`. Plain data: it crosses into the check threads. */
export interface OperatorShaping {
  default: Partial<SitePolicy> & { ways?: string[] };
  providers: Record<string, OperatorShapingEntry>;
  sites: Record<string, OperatorShapingEntry>;
}

interface SiteTreatment {
  policy: SitePolicy;
  isVerifiable: boolean;
}

/**
 * Reads and checks `shaping.json`, and overrides it with `own`, field by field. A provider's figure overrides a default
 * one, whichever file has it; a site's entry overrides both.
 * @throws ValiError when `shaping.json` is malformed
 */
export function loadShaping(own: OperatorShaping = { default: {}, providers: {}, sites: {} }): Shaping {
  const file: typeof shapingJson = createRequire(import.meta.url)("./shaping.json");
  const { default: fallback, providers } = v.parse(ShapingSchema, file);
  const treatmentOf = (...entries: { habit?: OperatorShapingEntry["habit"] }[]): SiteTreatment => {
    const { habit = "none", ...entry }: OperatorShapingEntry = Object.assign(
      {},
      fallback,
      own.default,
      ...entries,
    );
    return { policy: v.parse(v.object(POLICY_FIELDS), entry), isVerifiable: habit === "none" };
  };
  const standard = treatmentOf();
  const known = new Map(Object.entries(providers));
  const ofProviders = new Map<string, SiteTreatment>();
  for (const provider of new Set([...known.keys(), ...Object.keys(own.providers)]))
    ofProviders.set(provider, treatmentOf(known.get(provider) ?? {}, own.providers[provider] ?? {}));
  const ofSites = new Map(Object.entries(own.sites).map(([site, entry]) => [site, treatmentOf(entry)]));
  const treatment = (provider: string | null, site: string) =>
    (provider === null ? ofSites.get(site) : ofProviders.get(provider)) ?? standard;
  return {
    policyFor: (provider, site = "") => treatment(provider, site).policy,
    isUnverifiable: (provider, site = "") => !treatment(provider, site).isVerifiable,
    mx: Object.fromEntries(Object.entries(own.providers).map(([provider, { mx = [] }]) => [provider, mx])),
    routes: routesOf(own),
  };
}

/** Routes by site. A provider's name is the name of its site, and `sites` has no such entry. */
function routesOf({ default: standardEntry, providers, sites }: OperatorShaping): RouteSelection {
  const standard = standardEntry.ways ?? null;
  const own = new Map<string, readonly string[]>();
  for (const [site, { ways }] of [...Object.entries(providers), ...Object.entries(sites)])
    if (ways !== undefined) own.set(site, ways);
  return {
    defaults: standard,
    forSite: (site) => own.get(site) ?? null,
    allNamed: [...(standard ?? []), ...[...own.values()].flat()],
  };
}
