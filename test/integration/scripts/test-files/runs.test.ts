import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { type CompiledTests, compileTests } from "../../../../scripts/test/compile.ts";
import { fileLines, skippedLines, slowestLines } from "../../../../scripts/test/report.ts";
import { type FileRun, runFiles } from "../../../../scripts/test/run-files.ts";
import { createToSources } from "../../../../scripts/test/sources.ts";
import { until } from "../../../support/until.ts";

const ROOT = resolve(import.meta.dirname, "../../../..");
const HERE = "test/integration/scripts/test-files";
const NAMES = ["fails", "exits", "rejects", "hangs", "hooks", "broken"] as const;
const source = (name: (typeof NAMES)[number]) => join(ROOT, HERE, `${name}.fixture.ts`);
mkdirSync(join(ROOT, ".rcpt"), { recursive: true });
const folder = mkdtempSync(join(ROOT, ".rcpt/test-files-"));
let compiled: CompiledTests;

before(async () => {
  compiled = await compileTests(ROOT, folder, NAMES.map(source));
});
after(() => rmSync(folder, { recursive: true }));

const never = new AbortController().signal;
async function run(name: (typeof NAMES)[number], stop = never): Promise<FileRun> {
  const [ran] = await runFiles(compiled, [source(name)], NAMES.indexOf(name), stop);
  assert.ok(ran);
  return ran;
}
const linesOf = (ran: FileRun, isTerminal = false) =>
  fileLines(ran, ROOT, createToSources(ROOT, folder), isTerminal);

test("a failure is reported with the place in its source, and passing tests are not", async () => {
  const ran = await run("fails");
  const text = linesOf(ran).join("\n");
  assert.match(text, new RegExp(`^not ok ${HERE}/fails\\.fixture\\.ts:8 fails\n`));
  assert.match(text, /AssertionError.*one is not two/);
  assert.match(text, new RegExp(`at .*${HERE}/fails\\.fixture\\.ts:8:30`));
  assert.match(text, /wrote to standard error\n {4}on standard error/);
  assert.doesNotMatch(text, /passes|skipped|written/);
  assert.ok(!text.includes(folder), text);
  assert.equal(ran.fault, null);
});

test("on a terminal every test is reported", async () => {
  const text = linesOf(await run("fails"), true).join("\n");
  for (const line of [/✔ passes/, /﹣ is skipped/, /﹣ is to be written/, / {4}✖ fails/])
    assert.match(text, line);
});

test("tests that were skipped are counted by their reason", async () => {
  const { reports, ...ran } = await run("fails");
  assert.deepEqual(skippedLines([{ reports, ...ran }]), ["skipped 2"]);
  const why = "no helm is installed";
  const said = reports.map((one) =>
    one.type === "skip" && one.name === "is skipped" ? { ...one, why } : one,
  );
  assert.deepEqual(skippedLines([{ reports: said, ...ran }]), [`skipped 1: ${why}`, "skipped 1"]);
});

test("a process that ends within a test is a fault that names the file", async () => {
  const ran = await run("exits");
  const lines = linesOf(ran);
  assert.equal(lines[0], `not ok ${HERE}/exits.fixture.ts`);
  assert.match(ran.fault ?? "", /^it ended with exit code 0 before all of its tests were reported/);
});

test("an unhandled rejection is a fault that names the file, the test and the error", async () => {
  const text = linesOf(await run("rejects")).join("\n");
  assert.match(text, new RegExp(`^not ok ${HERE}/rejects\\.fixture\\.ts\n {4}it ended with exit code [1-9]`));
  assert.match(text, /leaves a rejection behind.*nobody handles this/s);
});

test("files of one process are reported separately, and one that ends the process does not affect the others", async () => {
  const names = ["fails", "rejects", "exits", "fails"] as const;
  const [first, rejects, exits, last, ...more] = await runFiles(compiled, names.map(source), 90, never);
  assert.ok(first && rejects && exits && last);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [first.file, rejects.file, exits.file],
    [source("fails"), source("rejects"), source("exits")],
  );
  const alone = await run("fails");
  const withoutTimes = ({ reports }: FileRun) =>
    reports.flatMap((one) => ("nesting" in one ? [{ ...one, ms: 0 }] : []));
  assert.deepEqual(withoutTimes(first), withoutTimes(alone));
  assert.deepEqual(linesOf(first), linesOf(alone));
  assert.deepEqual(linesOf(last), linesOf(alone));
  assert.deepEqual([first.fault, last.fault], [null, null]);
  assert.deepEqual(linesOf(exits), linesOf(await run("exits")));
  assert.equal(rejects.reports.filter(({ type }) => type === "pass").length, 1);
});

test("an unhandled rejection, among files of one process, is a fault of its file", async () => {
  const runs = await runFiles(compiled, [source("fails"), source("rejects"), source("fails")], 91, never);
  assert.deepEqual(
    runs.map(({ fault }) => fault === null),
    [true, false, true],
  );
  assert.match(runs[1]?.fault ?? "", /nobody handles this/);
});

test("a test that fails is no fault of the files behind it, whatever tests say of themselves", async () => {
  const runs = await runFiles(compiled, [source("fails"), source("fails")], 94, never);
  assert.deepEqual(
    runs.map(({ fault }) => fault),
    [null, null],
  );
});

test("hooks are those of their file, and one that fails is a fault of it", async () => {
  const [hooks, fails] = await runFiles(compiled, [source("hooks"), source("fails")], 92, never);
  assert.match(hooks?.fault ?? "", /it cannot be closed/);
  assert.equal(hooks?.stderr, "a hook ran\n");
  assert.ok(hooks?.reports.some((report) => report.type === "pass" && report.name === "passes"));
  assert.equal(fails?.fault, null);
  assert.doesNotMatch(fails?.stderr ?? "", /a hook ran/);
});

test("a file that cannot be loaded is a fault of it, and those after it run", async () => {
  const [broken, fails] = await runFiles(compiled, [source("broken"), source("fails")], 93, never);
  assert.match(broken?.fault ?? "", /it cannot be loaded/);
  assert.equal(fails && linesOf(fails)[0], `not ok ${HERE}/fails.fixture.ts:8 fails`);
});

test("a file that hangs is ended when the run is stopped", async () => {
  const begun = join(folder, "begun");
  process.env.RCPT_TEST_HANGS = begun;
  const stop = new AbortController();
  const running = run("hangs", stop.signal);
  await until("it hangs", () => existsSync(begun));
  stop.abort();
  assert.match((await running).fault ?? "", /^it was ended by SIGTERM/);
});

test("the ten slowest files, the slowest first", () => {
  const runs = Array.from({ length: 12 }, (_, at) => ({
    file: join(ROOT, `test/unit/${at}.test.ts`),
    reports: [],
    fault: null,
    stdout: "",
    stderr: "",
    seconds: at + 0.25,
  }));
  const lines = slowestLines(runs, ROOT);
  assert.equal(lines.length, 11);
  assert.deepEqual(lines.slice(0, 2), ["slowest files:", "   11.3 s  test/unit/11.test.ts"]);
  assert.equal(lines.at(-1), "    2.3 s  test/unit/2.test.ts");
  assert.deepEqual(slowestLines([], ROOT), []);
});
