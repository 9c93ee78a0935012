import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { BadOptions, HELP, readOptions } from "../../../../scripts/capacity/options.ts";
import { PRESETS } from "../../../../scripts/capacity/presets.ts";

const dir = mkdtempSync(join(tmpdir(), "rcpt-capacity-test-"));
after(() => rmSync(dir, { recursive: true }));

function configOf(text: string): string {
  const file = join(dir, "config.json");
  writeFileSync(file, text);
  return file;
}

function refused(argv: readonly string[], why: RegExp): void {
  assert.throws(
    () => readOptions(argv),
    (error: unknown) => error instanceof BadOptions && why.test(error.message),
  );
}

describe("the options of npm run capacity", () => {
  it("are a plan for a million rows a day unless they say otherwise", () => {
    const options = readOptions([]);
    assert.equal(options.mode, "plan");
    assert.equal(options.target.rowsPerDay, 1_000_000);
    assert.deepEqual(options.scenario, PRESETS.million?.scenario);
    assert.equal(readOptions(["--help"]).mode, "help");
    assert.equal(readOptions(["--measure", "--write"]).mode, "measure");
  });

  it("go before the file, and the file before the preset", () => {
    const file = configOf('{"cached": 0.2, "fleet": {"cores": 4}, "target": {"peak": 3}}');
    const { scenario, target } = readOptions([
      "list",
      "--preset",
      "billion",
      "--config",
      file,
      "--cores",
      "8",
    ]);
    assert.deepEqual([scenario.cached, scenario.listed], [0.2, PRESETS.billion?.scenario.listed]);
    assert.equal(scenario.fleet.cores, 8);
    assert.equal(scenario.fleet.rowsAtOnce, PRESETS.billion?.scenario.fleet.rowsAtOnce);
    assert.deepEqual([target.peak, target.rowsPerDay], [3, 1_000_000_000]);
    const far = readOptions(["--round-trip-ms", "200", "--per-hour", "0"]).scenario.sites;
    assert.ok(
      far.length > 1 && far.every(({ roundTripMs, perHour }) => roundTripMs === 200 && perHour === 0),
    );
  });

  it("are refused with the reason", () => {
    refused(["--rows", "many"], /--rows takes a number, not "many"/);
    refused(["--rows", ""], /--rows takes a number/);
    refused(["--cached", "2"], /cached: must be a number from 0 to 1/);
    refused(["--cached", "0.9", "--listed", "0.2"], /more than 1 together/);
    refused(["--addresses", "0"], /fleet.sourceAddresses: must be a whole number from 1/);
    refused(["--preset", "toString"], /there are million, hundred-million, billion/);
    refused(["--nonsense"], /nonsense/);
    refused(["dance"], /plan, list or --measure/);
    refused(["--write"], /goes with --measure/);
  });

  it("name what is wrong in a file", () => {
    refused(["--config", join(dir, "none.json")], /ENOENT/);
    refused(["--config", configOf("{")], /--config .*JSON/);
    refused(["--config", configOf("[]")], /must be a JSON object/);
    refused(["--config", configOf('{"speed": 1}')], /speed/);
    refused(["--config", configOf('{"target": {"rows": 1}}')], /target.rows is unknown/);
    refused(["--config", configOf('{"target": {"peak": "2"}}')], /target.peak must be a number/);
    refused(["--config", configOf('{"sites": [{"name": "x"}]}')], /sites.0/);
    const half = JSON.stringify({ sites: PRESETS.million?.scenario.sites.slice(0, 2) });
    refused(["--config", configOf(half)], /shares of the sites are not 1/);
  });

  it("are all in the help", () => {
    for (const flag of ["preset", "config", "rows-per-day", "json", "write", "measure", "per-hour"])
      assert.ok(HELP.includes(`--${flag}`), flag);
  });
});
