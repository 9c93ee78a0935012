import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { SETTING_NAMES } from "../../../src/config/config.ts";
import { codeBlocksOf, documentedPages, inlineCodeOf, textOfPage } from "../../support/documented/blocks.ts";

/** Code in documents says what it is: blocks of commands are run by test/scenario/docs/commands.test.ts, by their language. */

const ROOT = resolve(import.meta.dirname, "../../..");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };
/** `sh`: commands; `console`: commands with what they print; `env`: settings; the others are shown. */
const LANGUAGES = [
  ...["sh", "console", "env", "sql", "text", "json", "yaml", "ini", "csv", "js", "ts"],
  ...["nginx", "haproxy", "caddy"],
];
const COMMANDS = /^\s*(\$ |(npm|npx|node|curl|docker|kubectl|helm|git|psql|redis-cli|rcpt) [a-z-])/m;
const pages = documentedPages();
const blocks = pages.flatMap((page) => codeBlocksOf(page));

describe("blocks of code in documents", () => {
  it("say in which language they are, in fences", () => {
    assert.ok(blocks.length > 80);
    const others = blocks.filter(({ language }) => !LANGUAGES.includes(language));
    assert.deepEqual(
      others.map(({ page, line, language }) => `${page}:${line} ${language}`),
      [],
    );
  });

  it("are called commands where they are commands", () => {
    const hidden = blocks.filter(
      ({ language, text }) => ["text", "env", "ini"].includes(language) && COMMANDS.test(text),
    );
    assert.deepEqual(
      hidden.map(({ page, line }) => `${page}:${line}`),
      [],
    );
  });

  it("set settings that there are", () => {
    const standard = /^OTEL_/;
    for (const { page, line, text } of blocks.filter(({ language }) => language === "env"))
      for (const [, name = ""] of text.matchAll(/^([A-Z][A-Z0-9_]*)=/gm))
        assert.ok(
          SETTING_NAMES.some((known) => known === name) || standard.test(name),
          `${page}:${line} ${name}`,
        );
  });

  it("are found in lists, without their indentation", () => {
    const page = "1. A list\n\n   ```sh\n   cd a\n   ```\n\ntext\n\n    indented\n";
    assert.deepEqual(codeBlocksOf("a.md", page), [
      { page: "a.md", line: 3, language: "sh", text: "cd a\n" },
      { page: "a.md", line: 9, language: "", text: "indented\n" },
    ]);
  });
});

describe("commands in the prose of documents", () => {
  it("name scripts of package.json", () => {
    const named = pages.flatMap((page) =>
      inlineCodeOf(textOfPage(page)).flatMap((span) => {
        const [, script] = /^npm run (?:--silent )?([a-z]+)/.exec(span) ?? [];
        return script === undefined || span.includes(" -w portal") ? [] : [{ page, script }];
      }),
    );
    assert.ok(named.length > 40);
    assert.deepEqual(
      named.filter(({ script }) => !Object.hasOwn(scripts, script)),
      [],
    );
  });
});
