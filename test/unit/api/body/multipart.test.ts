import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileOfForm } from "../../../../src/api/body/multipart.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import fc from "../../../support/properties.ts";

const TYPE = "multipart/form-data; boundary=XyZ";

interface Part {
  name?: string;
  filename?: string;
  content: Buffer;
}

function formOf(parts: readonly Part[], end = "--XyZ--\r\n"): Buffer {
  const pieces = parts.flatMap(({ name = "file", filename, content }) => [
    Buffer.from(
      `--XyZ\r\nContent-Disposition: form-data; name="${name}"` +
        `${filename === undefined ? "" : `; filename="${filename}"`}\r\n` +
        `${filename === undefined ? "" : "Content-Type: text/csv\r\n"}\r\n`,
    ),
    content,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...pieces, Buffer.from(end)]);
}

async function* cutAt(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.max(from, Math.min(cut, bytes.length));
    if (to > from) yield bytes.subarray(from, to);
    from = to;
  }
  if (from < bytes.length) yield bytes.subarray(from);
}

/** The file, or the code and the sentence of the refusal. */
async function read(bytes: Buffer, cuts: readonly number[] = [], type = TYPE): Promise<Buffer | string> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of fileOfForm(type, cutAt(bytes, cuts))) pieces.push(piece);
    return Buffer.concat(pieces);
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const LIST = Buffer.from("email\r\n--Xy@ok.test\r\nb@ok.test\r\n");
const file = (content: Buffer = LIST): Part => ({ filename: "list.csv", content });
const field = (name: string): Part => ({ name, content: Buffer.from("a value") });

describe("the file of a form", () => {
  const whole: [string, Buffer, string?][] = [
    ["alone", formOf([file()])],
    ["between fields", formOf([field("a"), file(), field("b")])],
    ["behind a preamble and before an epilogue", formOf([file()], "--XyZ--\r\nmore\r\n--XyZ")],
    ["whose form ends without a line end", formOf([file()], "--XyZ--")],
    ["with a boundary in quotes", formOf([file()]), 'Multipart/Form-Data; charset=utf-8; boundary="XyZ"'],
  ];
  for (const [what, bytes, type] of whole)
    it(`is read ${what}, however it is cut`, async () => {
      assert.deepEqual(await read(bytes, [], type), LIST);
      const everywhere = Array.from(bytes.keys());
      assert.deepEqual(await read(bytes, everywhere, type), LIST);
      for (const cut of everywhere) assert.deepEqual(await read(bytes, [cut], type), LIST, `cut at ${cut}`);
    });

  it("may be empty", async () => {
    assert.deepEqual(await read(formOf([file(Buffer.alloc(0))])), Buffer.alloc(0));
  });

  const form = formOf([file()]);
  const broken: [string, Buffer, RegExp, string?][] = [
    ["no body", Buffer.alloc(0), /ends before|no file/],
    ["no form", Buffer.from("email\na@ok.test\n"), /ends before/],
    ["no file", formOf([field("a")]), /no file/],
    ["no parts", Buffer.from("--XyZ--\r\n"), /no file/],
    ["two files", formOf([file(), file()]), /several files/],
    ["no end boundary", formOf([file()], ""), /ends before/],
    ["half an end boundary", formOf([file()], "--XyZ-"), /ends before/],
    ["a file that is cut off", form.subarray(0, form.indexOf("b@ok")), /ends before/],
    ["a header that is cut off", form.subarray(0, 20), /ends before|no file/],
    ["too many parts", formOf(Array.from({ length: 200 }, (_, i) => field(`f${i}`))), /may have 100 parts/],
    ["another boundary", form, /ends before/, "multipart/form-data; boundary=other"],
    ["no boundary", form, /names no boundary/, "multipart/form-data"],
    ["an empty boundary", form, /names no boundary/, "multipart/form-data; boundary="],
  ];
  for (const [what, bytes, refusal, type] of broken)
    it(`is refused of a form with ${what}`, async () => {
      for (const cuts of [[], Array.from(bytes.keys())]) {
        const answer = await read(bytes, cuts, type);
        assert.match(String(answer), /^bad_request: /);
        assert.match(String(answer), refusal);
      }
    });

  it("is the same bytes for any content and any cuts", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.array(fc.nat(600), { maxLength: 20 }),
        async (content, cuts) => {
          const bytes = Buffer.from(content);
          fc.pre(!bytes.includes("--XyZ"));
          assert.deepEqual(await read(formOf([field("a"), file(bytes)]), cuts), bytes);
        },
      ),
    );
  });

  it("is whole or refused when bytes of the form are changed or missing", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(form.length - 1),
        fc.nat(255),
        fc.nat(form.length),
        fc.array(fc.nat(300), { maxLength: 8 }),
        async (at, byte, end, cuts) => {
          const bytes = Buffer.from(form);
          bytes[at] = byte;
          const answer = await read(bytes.subarray(0, end), cuts);
          if (typeof answer === "string") assert.match(answer, /^bad_request: /);
          else assert.ok(end >= form.length - 2, "a form without its end was taken");
        },
      ),
    );
  });

  it("is given as it comes: of a large one little is held", async () => {
    const content = Buffer.alloc(8_388_608, "x");
    const bytes = formOf([file(content)]);
    let written = 0;
    async function* pieces() {
      for (let from = 0; from < bytes.length; from += 65_536) {
        yield bytes.subarray(from, from + 65_536);
        written = from + 65_536;
      }
    }
    let given = 0;
    for await (const piece of fileOfForm(TYPE, pieces())) {
      given += piece.length;
      assert.ok(written - given < 200_000, `${written - given} bytes are held`);
    }
    assert.equal(given, content.length);
  });

  it("ends its body when it is given up", async () => {
    let ended = false;
    async function* pieces() {
      try {
        for (;;) yield formOf([file(Buffer.alloc(1_000))], "");
      } finally {
        ended = true;
      }
    }
    for await (const piece of fileOfForm(TYPE, pieces())) {
      assert.ok(piece.length > 0);
      break;
    }
    assert.ok(ended);
  });
});
