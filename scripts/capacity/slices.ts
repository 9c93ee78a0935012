import { askedShare, type Scenario } from "./scenario.ts";
import { simulate } from "./simulate.ts";

/**
 * A part of a deployment that is as loaded as the whole: some source addresses with their part of the rows, or one process with its
 * part of both. What is simulated then is thousands of rows, not billions.
 */
interface Slice {
  scenario: Scenario;
  forS: number;
}

/** As long as it takes for so many rows to come, which tell whether a queue grows, within these bounds. */
const FOR_S = { least: 60, most: 3_600 } as const;
const ROWS = 60_000;
/** Of a process by itself, which has tens of thousands of rows a second. */
const PROCESS_LEAST_S = 20;
const ADDRESSES_MIN = 4;
/** What is not looked at must not bind. */
const PLENTY = { cores: 1_024, rowsAtOnce: 1_000_000 } as const;
/** A queue that grows by so much of what comes is overload, not chance. */
const GROWTH = 0.02;
const CPU_MAX = 0.995;

function sliced(
  scenario: Scenario,
  perS: number,
  part: Partial<Scenario["fleet"]>,
  leastS: number = FOR_S.least,
): Slice {
  const fleet = { ...scenario.fleet, ...part, processes: 1 };
  const forS = Math.min(FOR_S.most, Math.max(leastS, ROWS / perS));
  return { scenario: { ...scenario, rows: Math.ceil(perS * forS) + 1, arrivalPerS: perS, fleet }, forS };
}

/** Some of the source addresses, by themselves. */
export function siteSlice(scenario: Scenario, peakPerS: number): Slice {
  const { sourceAddresses } = scenario.fleet;
  const each = peakPerS / sourceAddresses;
  const wanted = Math.ceil(ROWS / FOR_S.least / Math.max(each, 1e-9));
  const some = Math.min(sourceAddresses, Math.max(ADDRESSES_MIN, wanted));
  const asked = askedShare(scenario);
  // Rows that are answered without a server are nothing to it, and only take time.
  const own = asked > 0 ? { ...scenario, listed: 0, cached: 0 } : scenario;
  return sliced(own, each * some * (asked > 0 ? asked : 1), { ...PLENTY, sourceAddresses: some });
}

/** One process with its part of the rows, and as many addresses as that is part of. */
export function processSlice(scenario: Scenario, peakPerS: number): Slice {
  const { processes, sourceAddresses } = scenario.fleet;
  const some = Math.max(1, Math.round(sourceAddresses / processes));
  return sliced(scenario, peakPerS / processes, { sourceAddresses: some }, PROCESS_LEAST_S);
}

/** Whether no queue grows, of a site's or of the process' own. */
export function isBorne({ scenario, forS }: Slice): boolean {
  const outcome = simulate(scenario, { forS });
  if (outcome.cpu > CPU_MAX) return false;
  const asked = (scenario.arrivalPerS ?? 0) * askedShare(scenario);
  return outcome.sites.every(({ waitingMiddle, waitingEnd }, at) => {
    const came = asked * (scenario.sites[at]?.share ?? 0) * (forS / 2);
    return waitingEnd - waitingMiddle <= Math.max(GROWTH * came, 3 * Math.sqrt(came));
  });
}
