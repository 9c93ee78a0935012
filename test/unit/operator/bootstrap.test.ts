import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { BootstrapInput } from "../../../src/features/teams/bootstrap.ts";
import { runBootstrap } from "../../../src/operator/bootstrap.ts";
import { capturePrinted } from "../../support/printed.ts";

const MADE = { teamId: "team_1", userId: "usr_1", sessionToken: "s", liveKey: "l", testKey: "t" };

async function run(...argv: string[]) {
  const asked: BootstrapInput[] = [];
  const { printed, ...output } = capturePrinted();
  const code = await runBootstrap({
    argv,
    run: async (input) => {
      asked.push(input);
      return MADE;
    },
    ...output,
  });
  return { code, ...printed, asked };
}

const GOOD = ["--email", "a@example.com", "--team", "Acme", "--tier", "pro_plus"];

describe("the command bootstrap", () => {
  it("prints one JSON object with --json", async () => {
    const { code, stdout, asked } = await run(...GOOD, "--json");
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), {
      team_id: "team_1",
      user_id: "usr_1",
      session_token: "s",
      live_key: "l",
      test_key: "t",
    });
    assert.equal(stdout.trimEnd().includes("\n"), false);
    assert.equal(asked[0]?.tier, "pro_plus");
  });

  it("prints every secret once without it", async () => {
    const { stdout } = await run(...GOOD);
    for (const text of ["team_1", "usr_1", "session token  s", "live key       l", "test key       t"])
      assert.equal(stdout.split(text).length, 2, text);
  });

  it("takes an address that has an account only with the option for it", async () => {
    assert.equal((await run(...GOOD)).asked[0]?.existingUser, false);
    assert.equal((await run(...GOOD, "--existing-user")).asked[0]?.existingUser, true);
  });

  it("takes the names that the API takes", async () => {
    for (const team of ["Ömer & Søn 🏭", "x".repeat(200)])
      assert.equal((await run("--email", "a@b.de", "--team", team, "--tier", "pro")).asked[0]?.team, team);
  });

  it("answers wrong arguments with one line and exit code 2, before anything is done", async () => {
    const wrong = [
      [],
      ["--email", "a@example.com", "--team", "Acme"],
      ["--email", "a@example.com", "--team", " ", "--tier", "pro"],
      ["--email", "nobody", "--team", "Acme", "--tier", "pro"],
      ["--email", "a@example.com", "--team", "x".repeat(201), "--tier", "pro"],
      ...["\u001b[2Jcleared", "two\nlines", "two\u2028lines", "\ud800"].map((team) => [
        ...["--email", "a@example.com", "--tier", "pro"],
        ...["--team", team],
      ]),
      ["--email", "a@example.com", "--team", "Acme", "--tier", "gold"],
      [...GOOD, "--nonsense"],
      [...GOOD, "surplus"],
      ["--email"],
    ];
    for (const argv of wrong) {
      const { code, stdout, stderr, asked } = await run(...argv);
      assert.equal(code, 2, argv.join(" "));
      assert.match(stderr, /^bootstrap: [^\n]+\n$/);
      assert.equal(stdout, "");
      assert.deepEqual(asked, []);
    }
  });
});
