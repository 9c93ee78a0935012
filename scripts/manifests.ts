// npm run manifests: builds everything in k8s/ and holds it to the schemas, to the types, and to what no schema knows.
// Exit code 1 at any finding.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  build,
  differences,
  findBuilder,
  findKubectl,
  listBuilds,
  readExamples,
} from "./manifests/builds.ts";
import { CHART_BUILDS, compareForms, equalBuilds, renderBuild } from "./manifests/chart.ts";
import { CHECKS } from "./manifests/check.ts";
import { checkAllSettings, settingsSet } from "./manifests/checks/settings.ts";
import { checkCrds, loadCrds } from "./manifests/crds.ts";
import type { Document, Finding } from "./manifests/documents.ts";
import { type Helm, makeHelms } from "./manifests/helm.ts";
import { checkSchemas } from "./manifests/models.ts";
import { checkTypes } from "./manifests/typed.ts";

const ROOT = resolve(import.meta.dirname, "..");
const FINDINGS_SHOWN = 100;

/** Documents of each build of the one form or the other, by its name. */
type Built = Map<string, Document[]>;

interface Row {
  build: string;
  check: string;
  looked: number;
  findings: Finding[];
}

/** Another major version of Helm makes the same objects. */
async function compareHelms(helm: Helm, others: readonly Helm[], work: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const other of others)
    for (const one of [...equalBuilds(ROOT), ...CHART_BUILDS]) {
      const documents = await renderBuild(ROOT, helm, one, work);
      const theirs = await renderBuild(ROOT, other, one, work);
      const findings = differences(documents, theirs, other.name);
      rows.push({ build: one.name, check: `helm ${other.major}`, looked: theirs.length, findings });
    }
  return rows;
}

/** The chart beside kustomize, and what it alone can make. */
async function inspectChart(helm: Helm, work: string, kustomize: Built): Promise<Row[]> {
  const rows: Row[] = [];
  for (const one of equalBuilds(ROOT)) {
    const chart = await renderBuild(ROOT, helm, one, work);
    const findings = compareForms(kustomize.get(one.name) ?? [], chart, one.lacks);
    rows.push({ build: one.name, check: "chart", looked: chart.length, findings });
  }
  for (const one of CHART_BUILDS) {
    const chart = await renderBuild(ROOT, helm, one, work);
    kustomize.set(one.name, chart);
    const row = (check: string, findings: Finding[]) =>
      rows.push({ build: one.name, check, looked: chart.length, findings });
    row("schemas", await checkSchemas(chart));
    for (const [name, check] of CHECKS) if (one.unchecked?.[name] === undefined) row(name, check(chart));
  }
  return rows;
}

async function inspect(work: string): Promise<Row[]> {
  const rows: Row[] = [];
  const built: Built = new Map();
  const set = new Set<string>();
  const builder = await findBuilder(ROOT);
  const found = await findKubectl(ROOT);
  // By itself it is compared with nothing.
  const kubectl = found?.command === builder.command ? null : found;
  console.log(
    `built by ${builder.name}${kubectl === null ? "; nothing to compare with" : `, compared with ${kubectl.name}`}`,
  );
  for (const one of listBuilds(join(ROOT, "k8s"), work)) {
    const documents = await build(one, builder);
    const row = (check: string, findings: Finding[]) =>
      rows.push({ build: one.name, check, looked: documents.length, findings });
    if (kubectl !== null) row("kubectl", differences(documents, await build(one, kubectl), kubectl.name));
    row("schemas", await checkSchemas(documents));
    for (const [name, check] of CHECKS) row(name, check(documents));
    for (const name of settingsSet(documents)) set.add(name);
    built.set(one.name, documents);
  }
  const { helms, missing } = await makeHelms(ROOT, (line) => console.log(line));
  for (const why of missing) console.log(`the chart was NOT checked with ${why}`);
  const [helm, ...others] = helms;
  if (helm !== undefined) {
    console.log(`the chart is rendered by ${helms.map(({ name }) => name).join(" and ")}`);
    rows.push(...(await inspectChart(helm, work, built)), ...(await compareHelms(helm, others, work)));
  }
  const all = [...built.values()].flat();
  const examples = readExamples(join(ROOT, "k8s"));
  all.push(...examples);
  const schemas = await checkSchemas(examples);
  rows.push({ build: "examples", check: "schemas", looked: examples.length, findings: schemas });
  const crds = await loadCrds(ROOT);
  if (typeof crds === "string") console.log(`the objects of gateways were NOT held to their CRDs: ${crds}`);
  else {
    const held = all.filter(({ apiVersion, kind }) => crds.has(`${apiVersion} ${kind}`));
    rows.push({ build: "of gateways", check: "CRDs", looked: held.length, findings: checkCrds(held, crds) });
  }
  const types = await checkTypes(all, ROOT, join(work, "typed"));
  rows.push({ build: "all of them", check: "types", looked: all.length, findings: types });
  const settings = checkAllSettings(set);
  rows.push({ build: "all of them", check: "every setting", looked: set.size, findings: settings });
  return rows;
}

function show(rows: readonly Row[]): void {
  const width = Math.max(...rows.map(({ build: name }) => name.length));
  const names = [...new Set(rows.map(({ build: name }) => name))];
  for (const name of names) {
    const mine = rows.filter((row) => row.build === name);
    const cells = mine.map(
      ({ check, findings }) => `${check} ${findings.length === 0 ? "ok" : findings.length}`,
    );
    console.log(
      `${name.padEnd(width)}  ${String(mine[0]?.looked).padStart(4)} looked at  ${cells.join("  ")}`,
    );
  }
  const found = rows.flatMap(({ build: name, check, findings }) =>
    findings.map(({ where, text }) => `${name}: ${check}: ${where} ${text}`),
  );
  for (const line of found.slice(0, FINDINGS_SHOWN)) console.error(line);
  if (found.length > FINDINGS_SHOWN) console.error(`and ${found.length - FINDINGS_SHOWN} more`);
  console.log(found.length === 0 ? "nothing found" : `${found.length} findings`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** A folder of this run's own, below the project: the types are found from there. What killed runs left goes. */
function makeWork(): string {
  const home = join(ROOT, ".rcpt");
  mkdirSync(home, { recursive: true });
  for (const name of readdirSync(home)) {
    const pid = /^manifests-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      rmSync(join(home, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(home, `manifests-${process.pid}-`));
}

const work = makeWork();
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
try {
  const rows = await inspect(work);
  show(rows);
  process.exitCode = rows.some(({ findings }) => findings.length > 0) ? 1 : 0;
} catch (error) {
  console.error(`manifests: ${(error as Error).message}`);
  process.exitCode = 1;
}
