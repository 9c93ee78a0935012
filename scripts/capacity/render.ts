import { alignColumns } from "../../bench/report/table.ts";
import type { FleetFormula } from "./formula.ts";
import { isReproduced, type Measured, ratioOf } from "./measure/measured.ts";
import type { Plan, Target } from "./plan.ts";
import type { Scenario } from "./scenario.ts";

const whole = (value: number) => Math.round(value).toLocaleString("en");
/** Three figures, however small. */
const figure = (value: number) => (value >= 100 ? whole(value) : Number(value.toPrecision(3)).toString());
const percent = (value: number) => `${Math.round(value * 100)} %`;
const MIB = 2 ** 20;

export function renderPlan(plan: Plan, { rowsPerDay, peak, use }: Target): string {
  const { addresses, bulkPods, stores } = plan;
  const sites = plan.sites.map((site) => [
    site.name,
    whole(site.perS),
    figure(site.bearsPerS),
    whole(site.addresses),
    site.bound,
  ]);
  const fleet = [
    ["", "least", `planned, ${percent(use)} used`, "because of"],
    ["source addresses", whole(addresses.least), whole(addresses.planned), addresses.boundBy],
    ["bulk pods", whole(bulkPods.least), whole(bulkPods.planned), bulkPods.boundBy],
    ["api pods", "", whole(plan.apiPods), "cached requests"],
    ["relay pods", "", whole(plan.relayPods), "one may die"],
  ];
  const load = [
    ["Postgres", `${whole(stores.postgresTransactionsPerS)} transactions/s`],
    ["Redis", `${whole(stores.redisCallsPerS)} calls/s, ${whole(stores.redisEntriesPerS)} entries/s`],
    [
      "Redis, memory",
      `${figure(stores.redisBytesPerS / MIB)} MiB/s, ${whole(stores.redisGibPerDay)} GiB if kept for a day`,
    ],
    [
      "object storage",
      `${whole(stores.objectRequestsPerS)} requests/s, ${figure(stores.objectBytesPerS / MIB)} MiB/s`,
    ],
    ["DNS", `${whole(stores.dnsQuestionsPerS)} questions/s`],
    ["SMTP", `${whole(stores.connectionsPerS)} new connections/s`],
  ];
  return [
    `${whole(rowsPerDay)} rows a day, peak ${peak} times the mean: ${whole(plan.peakPerS)} rows/s`,
    `a row: ${figure(plan.cpuUs)} µs of CPU in a bulk process, ${figure(plan.underWayS * 1_000)} ms under way on average`,
    "",
    ...alignColumns([["sites", "rows/s", "an address", "addresses", "bound by"], ...sites]),
    "",
    ...alignColumns(fleet),
    "",
    "Behind the pods, at the peak:",
    ...alignColumns(load),
    "",
  ].join("\n");
}

export function renderList(formula: FleetFormula, { rows, fleet }: Scenario): string {
  const sites = formula.bySite.map(({ name, perS }) => [
    name,
    Number.isFinite(perS) ? whole(perS) : "no bound",
  ]);
  return [
    `${whole(rows)} rows in ${figure(rows / formula.perS)} s: ${whole(formula.perS)} rows/s, bound by ${formula.bound}`,
    `${fleet.processes} bulk processes, ${fleet.sourceAddresses} source addresses`,
    "",
    "At most, by what could bind:",
    ...alignColumns([
      ["", "rows/s of the whole list"],
      ["the processes", whole(formula.byProcessesPerS)],
      ...sites,
    ]),
    "",
  ].join("\n");
}

export function renderMeasured(measured: Measured): string {
  const { name, predictedPerS, measuredPerS, predictedBound, also } = measured;
  const verdict = isReproduced(measured) ? "within 15 %" : "MORE THAN 15 % OFF";
  return [
    name,
    `  predicted ${whole(predictedPerS)} rows/s (${predictedBound}), measured ${whole(measuredPerS)} rows/s: ${ratioOf(measured).toFixed(3)}, ${verdict}`,
    ...Object.entries(also).map(([what, value]) => `  ${what}: ${figure(value)}`),
    "",
  ].join("\n");
}
