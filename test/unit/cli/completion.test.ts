import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { runProgram } from "../../../src/cli/program.ts";

async function scriptFor(shell: string): Promise<string> {
  let script = "";
  const stdout = (text: string) => {
    script += text;
  };
  assert.equal(await runProgram(["completion", shell], { stdout, stderr: assert.fail }), 0);
  return script;
}

/** The completions that bash offers after these words. */
function offered(script: string, words: readonly string[]): string[] {
  const typed = words.map((word) => `'${word}'`).join(" ");
  const look = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _rcpt; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const printed = execFileSync("bash", ["--norc", "-c", `${script}\n${look}`], { encoding: "utf8" });
  return printed.split("\n").filter((line) => line !== "");
}

describe("rcpt completion", () => {
  it("offers commands, options and their values in bash, and files where none fits", async () => {
    const script = await scriptFor("bash");
    const cases: [string[], string[]][] = [
      [["rcpt", "key"], ["keys"]],
      [
        ["rcpt", "keys", ""],
        ["list", "create", "revoke", "--help"],
      ],
      [
        ["rcpt", "keys", "create", "a label", "--env", ""],
        ["live", "test"],
      ],
      [["rcpt", "webhooks", "listen", "--f"], ["--forward-to"]],
      [["rcpt", "jobs", "results", "job_1", "--verdict", "r"], ["risky"]],
      [["rcpt", "completion", "z"], ["zsh"]],
      [["rcpt", "bulk", "lis"], []],
      [["rcpt", "check", "$(exit 3)", "--tr"], ["--trace"]],
    ];
    for (const [words, found] of cases) assert.deepEqual(offered(script, words), found, words.join(" "));
  });

  it("describes each word in zsh and fish", async () => {
    assert.match(await scriptFor("zsh"), /^ {4}'keys'\) found=\(.*'revoke:end a key, at once'/m);
    assert.match(
      await scriptFor("fish"),
      /^complete -c rcpt -n 'test \(__rcpt_command\) = "keys"' -a revoke -d 'end a key, at once'$/m,
    );
  });
});
