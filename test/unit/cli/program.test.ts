import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { runProgram } from "../../../src/cli/program.ts";
import { VERSION } from "../../../src/platform/version.ts";
import { capturePrinted } from "../../support/printed.ts";

/** Output of `rcpt` for commands that fail before any request. */
const folder = mkdtempSync(join(tmpdir(), "rcpt-cli-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function rcpt(...argv: string[]) {
  const { printed, ...output } = capturePrinted();
  const code = await runProgram(argv, output);
  return { code, ...printed };
}

function listOf(text: string): string {
  const path = join(folder, "list.csv");
  writeFileSync(path, text);
  return path;
}

describe("rcpt", () => {
  const twoColumns = "a,b\r\nx@plain.test,y@plain.test\r\nz@plain.test,w@plain.test\r\n";
  const wrong: [string, () => string[], RegExp][] = [
    ["no addresses", () => ["check"], /^rcpt: name addresses, - for standard input, or --csv FILE/],
    ["both kinds", () => ["check", "a@b.test", "--csv", "x"], /^rcpt: either addresses or --csv, not both/],
    [
      "no verdict",
      () => ["check", "--fail-on", "bad", "a@b.test"],
      /--fail-on names verdicts: valid, invalid, risky, unknown/,
    ],
    ["no such file", () => ["check", "--csv", join(folder, "absent.csv")], /absent\.csv cannot be read/],
    ["two columns", () => ["check", "--csv", listOf(twoColumns)], /--column chooses one of: a, b/],
    ["no addresses in it", () => ["check", "--csv", listOf("a,b\r\n1,2\r\n")], /list\.csv: /],
    [
      "an option that is none",
      () => ["check", "--wrong", "a@b.test"],
      /unknown option '--wrong'[\s\S]*rcpt --help/,
    ],
    ["a command that is none", () => ["unheard-of"], /unknown command 'unheard-of'/],
  ];
  for (const [name, argv, says] of wrong)
    it(`says what is wrong: ${name}`, async () => {
      const { code, stdout, stderr } = await rcpt(...argv());
      assert.match(stderr, says);
      assert.deepEqual([code, stdout], [2, ""]);
    });

  it("prints its version and its help", async () => {
    assert.deepEqual(await rcpt("--version"), { code: 0, stdout: `${VERSION}\n`, stderr: "" });
    const { code, stdout } = await rcpt("check", "--help");
    assert.equal(code, 0);
    for (const said of ["--csv <file>", "--no-probe", "--fail-on <verdicts>", "rcpt check jane@example.com"])
      assert.ok(stdout.includes(said), said);
  });
});
