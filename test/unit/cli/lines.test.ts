import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { linesOf } from "../../../src/cli/check-input.ts";
import { jsonLine, printable, printableLines } from "../../../src/cli/printable.ts";

async function linesIn(...chunks: (string | Buffer)[]): Promise<string[]> {
  const input = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  const lines: string[] = [];
  for await (const line of linesOf(input, new AbortController().signal)) lines.push(line);
  return lines;
}

describe("lines of standard input", () => {
  it("are cut at any end of a line, wherever chunks are cut", async () => {
    assert.deepEqual(await linesIn("a\r", "\nb\n\n  \nc\rd"), ["a", "b", "c", "d"]);
    const [first, second] = [
      Buffer.from("gr\u00f6\u00dfe").subarray(0, 3),
      Buffer.from("gr\u00f6\u00dfe").subarray(3),
    ];
    assert.deepEqual(await linesIn(first, second), ["gr\u00f6\u00dfe"]);
  });

  it("may be 65,536 bytes long, and no longer, ended or not", async () => {
    const longest = "\u00f6".repeat(32_768);
    assert.deepEqual(await linesIn(longest, "\n"), [longest]);
    for (const end of ["", "\n"])
      await assert.rejects(linesIn(`${longest}x${end}`), /a line of standard input is over 65536 bytes/);
  });
});

describe("text for a terminal", () => {
  it("shows what would drive it as escapes", () => {
    assert.equal(printable("a\u001b[2J\u202eb\u0007\u{e0001}\n"), "a\\x1b[2J\\u{202e}b\\x07\\u{e0001}\\x0a");
    assert.equal(printableLines("a\tb\r\n\u001bc\u009b\n"), "a\tb\r\n\\x1bc\\x9b\n");
    const hostile = { reply: "a\u009b2J\u202e \u{e0001}\u001b\ud800 gr\u00f6\u00dfe \u4f60" };
    const line = jsonLine(hostile);
    assert.equal(line, '{"reply":"a\\u009b2J\\u202e \\udb40\\udc01\\u001b\\ud800 gr\u00f6\u00dfe \u4f60"}\n');
    assert.deepEqual(JSON.parse(line), hostile);
    assert.equal(printable("gr\u00f6\u00dfe \u4f60"), "gr\u00f6\u00dfe \u4f60");
  });
});
