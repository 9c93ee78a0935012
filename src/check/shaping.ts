import { createRequire } from "node:module";
import * as v from "valibot";
import { LIMITS } from "../core/limits.ts";
import type { SitePolicy } from "../smtp/policy.ts";
import type shapingJson from "./shaping.json";

export interface Shaping {
  /** How to treat a site; every site without a known provider is treated by the default. */
  policyFor(provider: string | null): SitePolicy;
  /** The provider accepts, or refuses, everybody at RCPT: asking there tells nothing about a mailbox. */
  cannotBeBelieved(provider: string | null): boolean;
}

const count = (max: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(max));

const PolicySchema = v.strictObject({
  maxConnections: count(1_000),
  transactionsPerSession: count(10_000),
  rejectionsPerSession: count(1_000),
  tls: v.picklist(["never", "opportunistic", "required"]),
  pipelineDepthMax: count(LIMITS.smtp.pipelineDepthMax),
});

/** Every figure says where it comes from. */
const source = v.pipe(v.string(), v.minLength(10));

const ShapingSchema = v.strictObject({
  default: v.strictObject({ ...PolicySchema.entries, source }),
  providers: v.record(
    v.string(),
    v.strictObject({
      ...v.partial(PolicySchema).entries,
      habit: v.optional(v.picklist(["accepts_all", "refuses_all"])),
      source,
    }),
  ),
});

/** Reads and checks `shaping.json`. @throws ValiError when it is malformed */
export function loadShaping(): Shaping {
  const file: typeof shapingJson = createRequire(import.meta.url)("./shaping.json");
  const { default: fallback, providers } = v.parse(ShapingSchema, file);
  const strip = (entry: object) => v.parse(v.object(PolicySchema.entries), { ...fallback, ...entry });
  const standard = strip({});
  const policies = new Map<string, SitePolicy>();
  const unbelievable = new Set<string>();
  for (const [provider, entry] of Object.entries(providers)) {
    policies.set(provider, strip(entry));
    if (entry.habit !== undefined) unbelievable.add(provider);
  }
  return {
    policyFor: (provider) => policies.get(provider ?? "") ?? standard,
    cannotBeBelieved: (provider) => unbelievable.has(provider ?? ""),
  };
}
