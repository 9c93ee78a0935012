// npm run monitoring [-- --write]
//
// Checks the alerts and the dashboard of k8s/components/monitoring with Prometheus' own promtool (on PATH, or from the
// distribution's packages). Every rule and every query of the dashboard must parse, and each alert must fire, or not,
// as rules.test.yaml says. `--write` first writes the dashboard from scripts/monitoring/dashboard.ts. Exit codes: 0
// passed, 1 failed, 2 wrong arguments.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startGuard } from "./embedded/guard.ts";
import { findProgram } from "./embedded/program.ts";
import { renderDashboard } from "./monitoring/dashboard.ts";
import { queriesOf, readRules, readRuleTests } from "./monitoring/rules.ts";

const ROOT = resolve(import.meta.dirname, "..");
const FOLDER = join(ROOT, "k8s/components/monitoring");
const DASHBOARD = join(FOLDER, "dashboard.json");
const PROMTOOL = { name: "prometheus", path: "usr/bin/promtool" };
const CHECK_WITHIN_MS = 120_000;

function readArguments(): { write: boolean } {
  try {
    return parseArgs({ options: { write: { type: "boolean", default: false } } }).values;
  } catch (error) {
    console.error(`rcpt: ${(error as Error).message}\nusage: npm run monitoring [-- --write]`);
    process.exit(2);
  }
}

/** Every query as a rule of its own: promtool reads rules, not dashboards. */
function asRules(queries: readonly string[]): object {
  const rules = queries.map((expr, index) => ({ record: `dashboard:query_${index}`, expr }));
  return { groups: [{ name: "dashboard", rules }] };
}

/** @returns true when every step passed */
async function check(): Promise<boolean> {
  const guard = startGuard();
  try {
    const cache = join(ROOT, ".rcpt/cache");
    const say = (line: string) => console.error(line);
    const { binary, env } = await findProgram(PROMTOOL, { folder: cache, guard, say }, "--version");
    const folder = mkdtempSync(join(tmpdir(), "rcpt-monitoring-"));
    guard.removeAtEnd(folder);
    const put = (name: string, content: object) => {
      writeFileSync(join(folder, name), JSON.stringify(content));
      return join(folder, name);
    };
    const rules = put("rules.json", { groups: readRules(join(FOLDER, "rules.yaml")) });
    const tests = put("tests.json", readRuleTests(join(FOLDER, "rules.test.yaml"), rules));
    const queries = put("dashboard.json", asRules(queriesOf(JSON.parse(readFileSync(DASHBOARD, "utf8")))));
    const steps: [string, string[]][] = [
      ["the rules", ["check", "rules", rules]],
      ["the dashboard's queries", ["check", "rules", queries]],
      ["when alerts fire", ["test", "rules", tests]],
    ];
    let isWell = true;
    for (const [what, args] of steps) {
      const result = spawnSync(binary, args, { env, encoding: "utf8", timeout: CHECK_WITHIN_MS });
      const found = /(\d+) rules found/.exec(result.stdout)?.[0] ?? "";
      console.log(`${result.status === 0 ? "ok    " : "FAILED"} ${what} ${found}`.trimEnd());
      if (result.status !== 0) console.log(`${result.stdout}${result.stderr}${result.error?.message ?? ""}`);
      isWell &&= result.status === 0;
    }
    return isWell;
  } finally {
    await guard.end();
  }
}

const { write } = readArguments();
if (write) {
  writeFileSync(DASHBOARD, renderDashboard());
  console.log("wrote k8s/components/monitoring/dashboard.json");
}
process.exitCode = (await check()) ? 0 : 1;
