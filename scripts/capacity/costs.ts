import { readFileSync } from "node:fs";
import type { Costs } from "./scenario.ts";

const RESULTS = new URL("../../bench/results.json", import.meta.url);

/** The part of bench/results.json that is read here; `npm run bench -- --write` writes it. */
export interface BenchResults {
  sections: {
    section: { title: string; lines: { name: string; figures: { cpuUs: number } }[] } | null;
    targets: { id: string; figure: number | null }[];
  }[];
}

/** Mean rows of a write while a session may end at the next refusals, as in `npm run bench -- scaling`. */
const ROWS_PER_SHORT_WRITE = 4.5;
const DEEP = 10;

/**
 * CPU microseconds of one core, of the machine of bench/RESULTS.md: of a bulk process with all its threads, but for a request to the API.
 * @throws Error that names the figure which the bench did not measure
 */
export function costsOf({ sections }: BenchResults): Costs {
  const known = <T>(value: T | null | undefined, what: string): T => {
    if (value === null || value === undefined)
      throw new Error(`bench/results.json has no ${what}: npm run bench -- --write measures it`);
    return value;
  };
  const targets = new Map(sections.flatMap((one) => one.targets).map(({ id, figure }) => [id, figure]));
  const target = (id: string) => known(targets.get(id), id);
  const lineOf = (title: string, name: string) => {
    const lines = sections.flatMap(({ section }) => (section?.title === title ? section.lines : []));
    return known(lines.find((line) => line.name === name)?.figures.cpuUs, `line "${name}" of "${title}"`);
  };
  const [near, far] = ["Probing, 0 ms a round trip", "Probing, 20 ms a round trip"];
  const alone = lineOf(far, "engine, depth 1");
  const deep = lineOf(far, `engine, depth ${DEEP}`);
  // Alone in a write a row pays all of it, in a deep one a tenth.
  const writeUs = ((alone - deep) * DEEP) / (DEEP - 1);
  const askedUs = Math.max(0, target("bulk.probed.cpu") - writeUs / DEEP);
  return {
    listedUs: target("bulk.lists.cpu"),
    cachedUs: target("bulk.cached.cpu"),
    askedUs,
    writeUs,
    sessionUs: lineOf(near, "connection per address") - lineOf(near, "bare, one a write"),
    putOffUs: Math.max(0, target("bulk.scaling.cpu") - askedUs - writeUs / ROWS_PER_SHORT_WRITE),
    mainShare: target("bulk.probed.main") / target("bulk.probed.cpu"),
    requestUs: lineOf("Cached GET /v1/verify", "rcpt"),
  };
}

/** Costs that the last written bench measured. */
export const MEASURED_COSTS: Costs = costsOf(JSON.parse(readFileSync(RESULTS, "utf8")) as BenchResults);

/** LIMITS.bulk.chunkRowsAtOnce and retryRowsAtOnce: a test holds it to them. */
export const ROWS_AT_ONCE = 6_144;
