import { parseArgs } from "node:util";
import { BOUNDS, type Bounds, boundsFrom, LIMITS, requireWithin } from "./bounds.ts";
import { parseThresholds, type Threshold } from "./report/thresholds.ts";
import { type Profile, parseRamp, profileOf, type Ramp } from "./schedule.ts";
import type { Mix } from "./traffic.ts";
import {
  parseCount,
  parseDuration,
  parseRate,
  parseShare,
  UsageError,
  writeCount,
  writeDuration,
} from "./units.ts";

/** Source of the key. It is never part of the options, so that printing them cannot reveal it. */
export type KeySource = { from: "text"; text: string } | { from: "file"; path: string };

export interface BulkPlan {
  everyMs: number;
  rows: number;
  way: "upload" | "inline";
  /** Most jobs in progress at once; when another is due, it is left out, and counted. */
  atOnce: number;
  /** Milliseconds to wait for unfinished jobs after the end of the run. */
  waitMs: number;
}

/**
 * How single requests are sent. `rate` and levels of the open loop: requests a second; of the closed loop: connections.
 */
export type LoopPlan =
  | { kind: "open"; rate: number; arrivals: "uniform" | "poisson"; backlog: number; profile: Profile }
  | { kind: "closed"; profile: Profile }
  | { kind: "none" };

export interface LoadOptions {
  /** Scheme, host and port. */
  origin: string;
  /** Path prefix of the deployment, without a trailing slash; else empty. */
  basePath: string;
  loop: LoopPlan;
  /** As given; null: none. */
  ramp: string | null;
  connections: number;
  durationMs: number;
  warmUpMs: number;
  requests: number;
  timeoutMs: number;
  graceMs: number;
  mix: Mix;
  hot: number;
  emails: string | null;
  bulk: BulkPlan | null;
  heedRetryAfter: boolean;
  thresholds: Threshold[];
  jsonFile: string | null;
  htmlFile: string | null;
  seed: number;
  /** The user says that a public address is theirs to load. */
  isOwn: boolean;
  bounds: Bounds;
}

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;

const OPTIONS = {
  ...{ url: text, key: text, "key-file": text, help: flag, "i-own-this-deployment": flag },
  ...{ rate: text, closed: flag, arrivals: text, connections: text, backlog: text, ramp: text },
  ...{ duration: text, "warm-up": text, requests: text, timeout: text, grace: text },
  ...{ repeat: text, refresh: text, evidence: text, hot: text, emails: text, seed: text },
  ...{ "bulk-every": text, "bulk-rows": text, "bulk-by": text, "bulk-at-once": text, "bulk-wait": text },
  ...{ "bulk-only": flag, "heed-retry-after": flag, "fail-on": text, json: text, html: text },
  ...(Object.fromEntries(Object.values(BOUNDS).map(({ name }) => [`max-${name}`, text])) as Record<
    string,
    typeof text
  >),
} as const;

type Values = Record<string, string | boolean | undefined>;

const DEFAULTS = { rate: 200, connections: 64, durationMs: 30_000, requests: 100_000, bulkRows: 10_000 };

export type Parsed = { help: true } | { help: false; options: LoadOptions; key: KeySource };

function optionsOf(argv: readonly string[]): Values {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: false }).values as Values;
  } catch (error) {
    const [first = ""] = (error as Error).message.split(". ");
    throw new UsageError(`${first} (--help lists what there is)`);
  }
}

/** The value of a text option; null: not given. */
function given(values: Values, name: string): string | null {
  const value = values[name];
  return typeof value === "string" ? value : null;
}

function keyFrom(values: Values, env: Readonly<Record<string, string | undefined>>): KeySource {
  const key = given(values, "key");
  const file = given(values, "key-file");
  if (key !== null && file !== null) throw new UsageError("give --key or --key-file, not both");
  if (file !== null) return { from: "file", path: file };
  if (key !== null) return { from: "text", text: key };
  if (env.RCPT_KEY) return { from: "text", text: env.RCPT_KEY };
  if (env.RCPT_KEY_FILE) return { from: "file", path: env.RCPT_KEY_FILE };
  throw new UsageError("no key: set RCPT_KEY, or give --key-file FILE (- is standard input) or --key KEY");
}

/** @throws UsageError unless it can be sent in a header field */
export function checkedKey(key: string): string {
  const trimmed = key.trim();
  if (trimmed.length > LIMITS.keyChars || !/^[\x21-\x7e]+$/.test(trimmed))
    throw new UsageError("the key must be one line of letters and digits");
  return trimmed;
}

function urlFrom(values: Values): { origin: string; basePath: string } {
  const given_ = given(values, "url");
  if (given_ === null)
    throw new UsageError("no deployment: give --url URL, e.g. --url http://127.0.0.1:8080");
  const url = URL.canParse(given_) ? new URL(given_) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new UsageError("--url takes a URL of http or https");
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError("--url takes no user, query or fragment");
  return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, "") };
}

function loopFrom(values: Values, bounds: Bounds, connections: number, ramp: Ramp): LoopPlan {
  const rateText = given(values, "rate");
  const isOpenOnly = ["arrivals", "backlog"].filter((name) => given(values, name) !== null);
  if (values["bulk-only"]) {
    if (rateText !== null || values.closed)
      throw new UsageError("--bulk-only sends no singles: no --rate, no --closed");
    return { kind: "none" };
  }
  if (values.closed) {
    if (rateText !== null) throw new UsageError("--closed has no --rate: it asks as fast as it is answered");
    if (isOpenOnly.length > 0) throw new UsageError(`--closed has no --${isOpenOnly[0]}`);
    return { kind: "closed", profile: profileOf(ramp, connections) };
  }
  const arrivals = given(values, "arrivals") ?? "uniform";
  if (arrivals !== "uniform" && arrivals !== "poisson")
    throw new UsageError(`--arrivals takes uniform or poisson, not "${arrivals}"`);
  if (ramp.kind === "steps" && rateText !== null)
    throw new UsageError("--ramp with levels has no --rate beside it: its last level stays");
  const top =
    ramp.kind === "steps" ? Math.max(...ramp.levels) : parseRate("--rate", rateText ?? `${DEFAULTS.rate}`);
  requireWithin(bounds, "rate", top, "the rate");
  const backlog = parseCount("--backlog", given(values, "backlog") ?? `${LIMITS.backlog}`, 0);
  if (backlog > LIMITS.backlogMax) throw new UsageError(`--backlog can be ${LIMITS.backlogMax} at most`);
  return { kind: "open", rate: top, arrivals, backlog, profile: profileOf(ramp, top) };
}

function connectionsFrom(values: Values, bounds: Bounds, ramp: Ramp): number {
  const asked = given(values, "connections");
  if (values.closed && ramp.kind === "steps") {
    if (asked !== null)
      throw new UsageError("--ramp with levels has no --connections beside it when --closed");
    const most = Math.max(...ramp.levels);
    requireWithin(bounds, "connections", most, "the number of connections");
    return most;
  }
  const connections = parseCount("--connections", asked ?? `${DEFAULTS.connections}`);
  requireWithin(bounds, "connections", connections, "the number of connections");
  return connections;
}

function mixFrom(values: Values): Mix {
  const share = (name: string, byDefault: string) =>
    parseShare(`--${name}`, given(values, name) ?? byDefault);
  const mix = {
    repeat: share("repeat", "0.9"),
    refresh: share("refresh", "0"),
    evidence: share("evidence", "0"),
  };
  if (mix.refresh + mix.evidence > 1)
    throw new UsageError("--refresh and --evidence are more than all requests");
  return mix;
}

function boundedDuration(values: Values, name: string, byDefault: number, max: number): number {
  const asked = given(values, name);
  const ms = asked === null ? byDefault : parseDuration(`--${name}`, asked, { orNone: name === "grace" });
  if (ms > max) throw new UsageError(`--${name} can be ${writeDuration(max)} at most`);
  return ms;
}

function bulkFrom(values: Values, bounds: Bounds): BulkPlan | null {
  const every = given(values, "bulk-every");
  if (every === null) {
    const lone = ["bulk-rows", "bulk-by", "bulk-at-once", "bulk-wait"].find(
      (name) => given(values, name) !== null,
    );
    const meant = lone ?? (values["bulk-only"] ? "bulk-only" : null);
    if (meant !== null) throw new UsageError(`--${meant} needs --bulk-every, e.g. --bulk-every 10s`);
    return null;
  }
  const rows = parseCount("--bulk-rows", given(values, "bulk-rows") ?? `${DEFAULTS.bulkRows}`);
  requireWithin(bounds, "bulkRows", rows, "a list");
  const way = given(values, "bulk-by") ?? "upload";
  if (way !== "upload" && way !== "inline")
    throw new UsageError(`--bulk-by takes upload or inline, not "${way}"`);
  if (way === "inline" && rows > LIMITS.inlineRows)
    throw new UsageError(`--bulk-by inline takes ${writeCount(LIMITS.inlineRows)} rows at most`);
  const atOnce = parseCount("--bulk-at-once", given(values, "bulk-at-once") ?? `${LIMITS.bulkAtOnce}`);
  if (atOnce > LIMITS.bulkAtOnceMax)
    throw new UsageError(`--bulk-at-once can be ${LIMITS.bulkAtOnceMax} at most`);
  const waitMs = boundedDuration(values, "bulk-wait", LIMITS.bulkWaitMs, LIMITS.bulkWaitMaxMs);
  return { everyMs: parseDuration("--bulk-every", every), rows, way, atOnce, waitMs };
}

function timesFrom(values: Values, bounds: Bounds, ramp: Ramp): Pick<LoadOptions, "durationMs" | "warmUpMs"> {
  const asked = given(values, "duration");
  const byDefault = ramp.kind === "steps" ? ramp.levels.length * ramp.stepMs : DEFAULTS.durationMs;
  const durationMs = asked === null ? byDefault : parseDuration("--duration", asked);
  const warmUpMs = parseDuration("--warm-up", given(values, "warm-up") ?? "0", { orNone: true });
  requireWithin(bounds, "durationMs", durationMs + warmUpMs, "duration and warm-up together");
  return { durationMs, warmUpMs };
}

/**
 * Parses arguments and environment (RCPT_KEY, RCPT_KEY_FILE). Reads no file, sends no request.
 * @throws UsageError that says what is wrong and how to correct it
 */
export function parseOptions(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  seed: number,
): Parsed {
  const values = optionsOf(argv);
  if (values.help === true) return { help: true };
  const bounds = boundsFrom(values);
  const rampText = given(values, "ramp");
  const ramp = rampText === null ? ({ kind: "none" } as const) : parseRamp(rampText, values.closed === true);
  const connections = connectionsFrom(values, bounds, ramp);
  const asked = given(values, "requests");
  const requests =
    asked === null ? Math.min(DEFAULTS.requests, bounds.requests) : parseCount("--requests", asked);
  requireWithin(bounds, "requests", requests, "the number of requests");
  const hot = parseCount("--hot", given(values, "hot") ?? `${LIMITS.hotAddresses}`);
  if (hot > LIMITS.hotAddressesMax) throw new UsageError(`--hot can be ${LIMITS.hotAddressesMax} at most`);
  const failOn = given(values, "fail-on");
  const options: LoadOptions = {
    ...urlFrom(values),
    loop: loopFrom(values, bounds, connections, ramp),
    ramp: rampText,
    connections,
    ...timesFrom(values, bounds, ramp),
    requests,
    timeoutMs: boundedDuration(values, "timeout", LIMITS.timeoutMs, LIMITS.timeoutMaxMs),
    graceMs: boundedDuration(values, "grace", LIMITS.graceMs, LIMITS.timeoutMaxMs),
    mix: mixFrom(values),
    hot,
    emails: given(values, "emails"),
    bulk: bulkFrom(values, bounds),
    heedRetryAfter: values["heed-retry-after"] === true,
    thresholds: failOn === null ? [] : parseThresholds(failOn),
    jsonFile: given(values, "json"),
    htmlFile: given(values, "html"),
    seed: parseCount("--seed", given(values, "seed") ?? `${seed}`, 0),
    isOwn: values["i-own-this-deployment"] === true,
    bounds,
  };
  return { help: false, options, key: keyFrom(values, env) };
}
