import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Target } from "./plan.ts";
import { PRESETS, type Preset } from "./presets.ts";
import { parseScenario, type Scenario } from "./scenario.ts";

export const HELP = `npm run capacity -- [plan|list] [options]

How many pods and source addresses a load takes. docs/capacity.md has the formula and says what the figures mean.

  plan       (default) the fewest source addresses and bulk processes that bear a day's rows at its peak
  list       a list on the given processes and source addresses: rows a second, how long it takes, what binds
  --measure  three configurations of the real service on this machine, loopback only, beside what the formula says
             of them; takes two or three minutes, Linux only

  --preset NAME         ${Object.keys(PRESETS).join(", ")} (default million); all have the same mix of sites
  --config FILE         JSON laid over the preset: fields of the scenario (see --json), and "target"
  --rows-per-day N      of the plan
  --peak F              the busiest hour over the mean one
  --use F               share of each bound that is planned with, 0.1 to 1
  --requests-per-s N    requests to the API in the busiest hour
  --rows N              of the list
  --processes N  --cores F  --addresses N
  --listed F  --cached F            shares of the rows that nobody is asked about
  --round-trip-ms F                 of all sites
  --per-hour N                      recipients that each site bears of an address in an hour; 0: any number
  --json                figures as JSON, with the scenario that led to them
  --write               with --measure: keep the run in scripts/capacity/measured.json
  --help
`;

const FLAGS = {
  preset: { type: "string" },
  config: { type: "string" },
  "rows-per-day": { type: "string" },
  peak: { type: "string" },
  use: { type: "string" },
  "requests-per-s": { type: "string" },
  rows: { type: "string" },
  processes: { type: "string" },
  cores: { type: "string" },
  addresses: { type: "string" },
  listed: { type: "string" },
  cached: { type: "string" },
  "round-trip-ms": { type: "string" },
  "per-hour": { type: "string" },
  measure: { type: "boolean", default: false },
  write: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

export interface Options {
  mode: "plan" | "list" | "measure" | "help";
  scenario: Scenario;
  target: Target;
  json: boolean;
  write: boolean;
}

/** The options are unusable; the message says why, and the exit code is 2. */
export class BadOptions extends Error {
  override name = "BadOptions";
}

const CONFIG_BYTES = 1_000_000;
const TARGET_FIELDS = ["rowsPerDay", "peak", "requestsPerS", "use"] as const;

function numberOf(name: string, text: string): number {
  const value = Number(text.replaceAll("_", ""));
  if (text.trim() === "" || !Number.isFinite(value))
    throw new BadOptions(`--${name} takes a number, not "${text}"`);
  return value;
}

type Given = Record<string, unknown>;
const isObject = (value: unknown): value is Given =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function readConfig(file: string): Given {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new BadOptions(`--config ${file}: ${(error as NodeJS.ErrnoException).code ?? "cannot be read"}`);
  }
  if (text.length > CONFIG_BYTES)
    throw new BadOptions(`--config ${file}: longer than ${CONFIG_BYTES} characters`);
  try {
    const given: unknown = JSON.parse(text);
    if (isObject(given)) return given;
  } catch (error) {
    throw new BadOptions(`--config ${file}: ${(error as Error).message}`);
  }
  throw new BadOptions(`--config ${file}: must be a JSON object`);
}

function presetOf(name: string): Preset {
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
  if (preset === undefined)
    throw new BadOptions(`--preset ${name}: there is none; there are ${Object.keys(PRESETS).join(", ")}`);
  return preset;
}

/** A field of the one goes before that of the other; fields of objects one by one. */
function laidOver(base: Given, own: Given): Given {
  const laid = { ...base };
  for (const [key, value] of Object.entries(own)) {
    const below = base[key];
    laid[key] = isObject(value) && isObject(below) ? { ...below, ...value } : value;
  }
  return laid;
}

function targetOf(preset: Target, given: unknown): Target {
  if (given === undefined) return preset;
  if (!isObject(given)) throw new BadOptions("the configuration: target must be an object");
  for (const [key, value] of Object.entries(given)) {
    if (!TARGET_FIELDS.some((field) => field === key))
      throw new BadOptions(`the configuration: target.${key} is unknown`);
    if (typeof value !== "number") throw new BadOptions(`the configuration: target.${key} must be a number`);
  }
  return { ...preset, ...given };
}

type Values = { [Name in keyof typeof FLAGS]?: string | boolean | undefined };

/** Destination of each numeric flag: the scenario, its fleet, all of its sites, or the target. */
const NUMBERS = {
  rows: ["scenario", "rows"],
  listed: ["scenario", "listed"],
  cached: ["scenario", "cached"],
  processes: ["fleet", "processes"],
  cores: ["fleet", "cores"],
  addresses: ["fleet", "sourceAddresses"],
  "round-trip-ms": ["sites", "roundTripMs"],
  "per-hour": ["sites", "perHour"],
  "rows-per-day": ["target", "rowsPerDay"],
  peak: ["target", "peak"],
  "requests-per-s": ["target", "requestsPerS"],
  use: ["target", "use"],
} as const satisfies Partial<Record<keyof typeof FLAGS, readonly [string, string]>>;

/** The values of the flags, by destination. */
function flagged(values: Values) {
  const given = { scenario: {} as Given, fleet: {} as Given, sites: {} as Given, target: {} as Given };
  for (const [name, [to, field]] of Object.entries(NUMBERS)) {
    const text = values[name as keyof typeof NUMBERS];
    if (typeof text === "string") given[to][field] = numberOf(name, text);
  }
  return given;
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: FLAGS, allowPositionals: true });
  } catch (error) {
    throw new BadOptions((error as Error).message);
  }
}

function modeOf(positionals: readonly string[], { measure, help, write }: Values): Options["mode"] {
  const [mode = "plan", ...more] = positionals;
  if (help) return "help";
  if (more.length > 0 || (mode !== "plan" && mode !== "list"))
    throw new BadOptions(`${[mode, ...more].join(" ")}: what to do is plan, list or --measure`);
  if (write && !measure) throw new BadOptions("--write goes with --measure");
  return measure ? "measure" : mode;
}

/** @throws BadOptions that says what may be given instead */
export function readOptions(argv: readonly string[]): Options {
  const { values, positionals } = parsed(argv);
  const mode = modeOf(positionals, values);
  const preset = presetOf(values.preset ?? "million");
  const { target: given, ...config } = values.config === undefined ? {} : readConfig(values.config);
  const flags = flagged(values);
  const target = { ...targetOf(preset.target, given), ...flags.target };
  const whole = laidOver(laidOver({ ...preset.scenario }, config), { ...flags.scenario, fleet: flags.fleet });
  if (Array.isArray(whole.sites))
    whole.sites = whole.sites.map((site: unknown) => (isObject(site) ? { ...site, ...flags.sites } : site));
  try {
    const scenario = parseScenario(whole);
    return { mode, scenario, target, json: values.json, write: values.write };
  } catch (error) {
    throw new BadOptions((error as Error).message);
  }
}
