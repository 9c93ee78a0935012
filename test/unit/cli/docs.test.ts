import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import type { Command } from "commander";
import { createProgram } from "../../../src/cli/program.ts";

/** docs/cli.md, held to the commands as they are. */
const PAGE = readFileSync(resolve(import.meta.dirname, "../../../docs/cli.md"), "utf8");
const silent = { stdout: () => {}, stderr: () => {} };

interface Described {
  name: string;
  options: string[];
}

function commandsOf(command: Command, path: readonly string[] = []): Described[] {
  const options = command.options.flatMap(({ long }) => (long === undefined ? [] : [long]));
  const own = { name: path.join(" "), options };
  const inner = command.commands.flatMap((one) => commandsOf(one, [...path, one.name()]));
  return [own, ...inner];
}

const commands = commandsOf(createProgram(silent, () => {}));
const leaves = commands.filter(
  ({ name }) => name !== "" && !commands.some((other) => other.name.startsWith(`${name} `)),
);

describe("docs/cli.md", () => {
  it("has each command, and each of its options", () => {
    const missing = leaves.flatMap(({ name, options }) => [
      ...(new RegExp(`\`(?:rcpt )?${name}\\b`).test(PAGE) ? [] : [name]),
      ...options.filter((option) => !PAGE.includes(option)).map((option) => `${name} ${option}`),
    ]);
    assert.deepEqual(missing, []);
  });

  it("names no command and no option that does not exist", () => {
    const names = new Set(commands.map(({ name }) => name.split(" ")[0]));
    const said = [...PAGE.matchAll(/(?:`|\$ )rcpt ([a-z]+)/g)].map(([, name = ""]) => name);
    assert.deepEqual(
      said.filter((name) => !names.has(name)),
      [],
    );
    const options = new Set(["--help", "--version", "--silent", ...commands.flatMap((one) => one.options)]);
    const written = [...PAGE.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([option]) => option);
    assert.deepEqual(
      written.filter((option) => !options.has(option)),
      [],
    );
  });
});
