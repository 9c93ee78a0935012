import { getDomain } from "tldts";
import * as v from "valibot";
import { ConfigError } from "../config/config.ts";
import { LIMITS } from "../config/limits/limits.ts";
import { repeatedName } from "../platform/json-names.ts";
import { PROVIDER_MX_SUFFIXES } from "../verification/lists/providers.ts";
import { createSiteDirectory } from "../verification/lists/site.ts";
import { habitField, type OperatorShaping, POLICY_FIELDS } from "./shaping.ts";

/**
 * The operator's shaping: a JSON object of up to three members, each of which is optional.
 *
 * - `default`: the treatment of all sites; its `ways` are the egress routes of sites without routes of their own.
 * - `providers`: by name of `PROVIDER_MX_SUFFIXES`; a new name needs `mx`, and makes one site of all hosts with these names.
 * - `sites`: by site without a named provider, which is the domain of its mail exchangers' names.
 */
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const HOST = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`);
const MX_NAME = /^(?=.{1,253}$)(?:(?:[a-z0-9-]{1,63}|[a-z0-9-]{0,62}\*[a-z0-9-]{0,62})\.)+[a-z0-9-]{1,63}$/;
const PROVIDER = /^[a-z][a-z0-9_]{0,39}$/;

const { ownProviders, ownSites, mxNames, routes: waysMax } = LIMITS.shaping;

const texts = (max: number, what: string, fits: (text: string) => boolean) =>
  v.pipe(
    v.array(v.string(`must be a list of ${what}`), `must be a list of ${what}`),
    v.minLength(1, `must name at least one of ${what}`),
    v.maxLength(max, `must name at most ${max}`),
    v.check((items) => new Set(items).size === items.length, "names one twice"),
    v.check((items) => items.every(fits), `must be a list of ${what}`),
  );

const ways = v.optional(texts(waysMax, "ways", () => true));
const note = v.optional(v.string("must be a text"));
const unknownField = "is no field here";
const object = "must be an object";

const fields = { ...v.partial(v.object(POLICY_FIELDS)).entries, ways, source: note };
const entry = { ...fields, habit: v.optional(habitField) };
const mx = v.optional(texts(mxNames, "host names in lower case", isExchangerName));

/** To valibot an array is an object too. */
const plain = v.custom<Record<string, unknown>>((value) => !Array.isArray(value), object);
const strict = <T extends v.ObjectEntries>(entries: T) =>
  v.pipe(plain, v.strictObject(entries, fieldMessage));
const byName = <T extends v.GenericSchema>(schema: T) =>
  v.optional(v.pipe(plain, v.record(v.string(), schema, object)), {});

const FileSchema = strict({
  default: v.optional(strict(fields), {}),
  providers: byName(strict({ ...entry, mx })),
  sites: byName(strict(entry)),
});

/** valibot calls an unknown field one that never may be. */
function fieldMessage({ expected }: { expected: string | null }): string {
  return expected === "never" ? unknownField : object;
}

/** True for a name below a registrable domain; `*` may replace labels left of it. */
function isExchangerName(name: string): boolean {
  if (!MX_NAME.test(name)) return false;
  const domain = getDomain(name.replaceAll("*", "x"));
  return domain !== null && name.endsWith(domain);
}

/** The first fault in the names of entries, as `entry: why`; null: they are right. */
function wrongName({ providers, sites }: OperatorShaping): string | null {
  const names = Object.keys(providers);
  if (names.length > ownProviders) return `providers: at most ${ownProviders}`;
  if (Object.keys(sites).length > ownSites) return `sites: at most ${ownSites}`;
  const known = new Set([...Object.keys(PROVIDER_MX_SUFFIXES), ...names]);
  const owners = new Map<string, string>();
  for (const [provider, exchangers] of Object.entries(PROVIDER_MX_SUFFIXES))
    for (const name of exchangers) owners.set(name, provider);
  for (const name of names) {
    if (!PROVIDER.test(name)) return `providers.${name}: must be a name of letters, digits and _`;
    const mxOfIt = providers[name]?.mx ?? [];
    if (!Object.hasOwn(PROVIDER_MX_SUFFIXES, name) && mxOfIt.length === 0)
      return `providers.${name}: is no known provider; a new one needs mx, the names of its exchangers`;
    for (const exchanger of mxOfIt) {
      const owner = owners.get(exchanger) ?? name;
      if (owner !== name) return `providers.${name}.mx: ${exchanger} is of ${owner}`;
      owners.set(exchanger, name);
    }
  }
  const misplaced = Object.keys(sites).find((key) => known.has(key));
  if (misplaced !== undefined) return `sites.${misplaced}: is a provider, it belongs to providers`;
  return wrongSite(Object.keys(sites), providers);
}

/** The first name that is never a host's site, with the right name; null: all are right. */
function wrongSite(keys: readonly string[], providers: OperatorShaping["providers"]): string | null {
  const mxOf = Object.entries(providers).map(([name, { mx: names = [] }]) => [name, names]);
  const { siteOf } = createSiteDirectory(Object.fromEntries(mxOf));
  for (const key of keys) {
    if (!HOST.test(key)) return `sites.${key}: must be a domain in lower case, one an entry`;
    if (getDomain(key) === null) return `sites.${key}: is nobody's domain; name one that exchangers are in`;
    const { site, provider } = siteOf([key], key);
    if (provider !== null) return `sites.${key}: is of ${provider}, it belongs to providers.${provider}`;
    if (site !== key) return `sites.${key}: is in the site ${site}: all exchangers in ${site} are one site`;
  }
  return null;
}

/** The first unknown egress route, as `entry: why`; null: all are known. */
function wrongWay(own: OperatorShaping, known: ReadonlySet<string>): string | null {
  const entries = [
    ["default", own.default] as const,
    ...Object.entries(own.providers).map(([name, of]) => [`providers.${name}`, of] as const),
    ...Object.entries(own.sites).map(([name, of]) => [`sites.${name}`, of] as const),
  ];
  for (const [name, { ways: chosen = [] }] of entries) {
    const wrong = chosen.find((way) => !known.has(way));
    if (wrong !== undefined)
      return `${name}.ways: ${wrong} is no way of SMTP_SOURCE_ADDRESSES or SMTP_PROXIES, nor direct`;
  }
  return null;
}

/** Names that an object cannot hold like others, and that valibot would skip silently. */
const RESERVED: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"]);

function parsed(json: string): unknown {
  let reserved: string | null = null;
  const value: unknown = JSON.parse(json, (key, held: unknown) => {
    if (RESERVED.has(key)) reserved = key;
    return held;
  });
  if (reserved !== null) throw new Error(`${reserved} is no name of an entry`);
  const repeated = repeatedName(json);
  if (repeated !== null) throw new Error(`${repeated} is there twice in one object`);
  return value;
}

/**
 * @param setting name of the setting, for errors
 * @param known names of the egress routes that the settings define
 * @throws ConfigError one line that names the setting and the entry
 */
export function parseOperatorShaping(
  json: string,
  setting: string,
  known: ReadonlySet<string>,
): OperatorShaping {
  const fail = (why: string): never => {
    throw new ConfigError(`${setting}: ${why}`.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 500));
  };
  let value: unknown;
  try {
    value = parsed(json);
  } catch (error) {
    return fail(`is no JSON that can be read: ${(error as Error).message}`);
  }
  const result = v.safeParse(FileSchema, value, { abortEarly: true });
  if (!result.success) {
    const [issue] = result.issues;
    return fail(`${v.getDotPath(issue) ?? "the file"}: ${issue.message}`);
  }
  const own = result.output as OperatorShaping;
  const wrong = wrongName(own) ?? wrongWay(own, known);
  return wrong === null ? own : fail(wrong);
}
