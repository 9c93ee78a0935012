// npm run suggestions [-- --all]
//
// Measures `did_you_mean`: its recall on mistyped domains, and how many domains of real people it suspects. `--all`
// prints each miss. Exit code 0.
import { parseArgs } from "node:util";
import { measureFalseAlarms, measureRecall } from "./suggestions/measure.ts";

const { values } = parseArgs({ options: { all: { type: "boolean", default: false } } });

const percent = (part: number, whole: number, digits: number) =>
  `${((100 * part) / whole).toFixed(digits)} %`;

for (const { set, slips, right, wrong, missed } of measureRecall()) {
  console.log(`recall   ${percent(right, slips, 1).padStart(8)}  ${right} of ${slips}  ${set}`);
  for (const { typed, meant, suggested } of wrong)
    console.log(`  wrong  ${typed}: ${suggested}, meant ${meant}`);
  if (values.all) for (const { typed, meant } of missed) console.log(`  missed ${typed}, meant ${meant}`);
}
for (const { set, domains, suspected, wronged } of measureFalseAlarms()) {
  console.log(
    `suspects ${percent(suspected.length, domains, 3).padStart(8)}  ${suspected.length} of ${domains}  ${set};` +
      ` ${wronged.length} of them no registered slips (${percent(wronged.length, domains, 3)})`,
  );
  for (const { domain, suggested } of suspected)
    console.log(`  ${wronged.includes(domain) ? "WRONGED" : "slip   "} ${domain}: ${suggested}`);
}
