import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib, { gzipSync } from "node:zlib";
import { openText } from "../../../../../../src/features/bulk/csv/encoding/decode.ts";
import { CsvProblemError } from "../../../../../../src/features/bulk/csv/problems.ts";
import { cut } from "../../../../../support/csv-corpus/hostile.ts";
import { readText, repeated, sourceOf } from "../../../../../support/csv-corpus/sources.ts";
import fc from "../../../../../support/properties.ts";

const LIMITS = { decompressedBytes: 1_000_000, sampleBytes: 10_000 };
const LIST = "name,email\r\nJörg 😀,jo@example.com\r\nАнна,anna@example.com\r\n";

const utf16be = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();

/** Random bytes do not compress: their gzip is as long as they are. */
function noise(bytes: number): Buffer {
  let seed = 1;
  const random = Buffer.alloc(bytes);
  for (let i = 0; i < bytes; i += 1) {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    random[i] = seed & 0xff;
  }
  return random;
}

describe("the text of an object", () => {
  const forms: [string, Buffer, string, boolean][] = [
    ["UTF-8", Buffer.from(LIST), LIST, true],
    ["UTF-8 with a byte order mark", Buffer.from(`\ufeff${LIST}`), `\ufeff${LIST}`, true],
    ["UTF-16LE with a byte order mark", Buffer.from(`\ufeff${LIST}`, "utf16le"), `\ufeff${LIST}`, false],
    ["UTF-16BE with a byte order mark", utf16be(`\ufeff${LIST}`), `\ufeff${LIST}`, false],
    ["UTF-16LE without", Buffer.from(LIST, "utf16le"), LIST, false],
    ["UTF-16BE without", utf16be(LIST), LIST, false],
    ["UTF-16LE cut in a character", Buffer.from(`${LIST}a`, "utf16le").subarray(0, -1), LIST, false],
    ["half a surrogate pair", Buffer.from(`${LIST}\ud83d`, "utf16le"), `${LIST}\ufffd`, false],
    ["nothing", Buffer.alloc(0), "", true],
  ];
  for (const [name, bytes, text, rangeReadable] of forms) {
    it(`${name}: as it is, and compressed, in pieces of any size`, async () => {
      const size = fc.integer({ min: 1, max: bytes.length + 1 });
      await fc.assert(
        fc.asyncProperty(size, fc.integer({ min: 1, max: 300 }), async (plainSize, zippedSize) => {
          for (const [object, pieceBytes, readable] of [
            [bytes, plainSize, rangeReadable],
            [gzipSync(bytes), zippedSize, false],
          ] as const) {
            const opened = await openText(sourceOf(cut(object, [pieceBytes])), LIMITS);
            assert.ok(opened.ok);
            assert.equal(opened.rangeReadable, readable);
            assert.equal(opened.head.toString(), text);
            assert.equal(opened.whole, true);
            const pieces: Buffer[] = [];
            for await (const piece of opened.text) pieces.push(piece);
            assert.equal(Buffer.concat(pieces).toString(), text);
          }
        }),
        { numRuns: 20 },
      );
    });
  }

  it("keeps bytes that are no UTF-8 as they are", async () => {
    const bytes = Buffer.from([...Array.from({ length: 255 }, (_, i) => i + 1)]);
    assert.deepEqual(await readText(sourceOf([bytes]), LIMITS), bytes);
  });

  it("begins with a head of the bytes that were asked for, and says whether that is all", async () => {
    for (const [bytes, whole] of [
      [9_999, true],
      [10_000, false],
      [10_001, false],
    ] as const) {
      const opened = await openText(sourceOf(cut(Buffer.alloc(bytes, "a"), [3_000])), LIMITS);
      assert.ok(opened.ok);
      assert.equal(opened.head.length, Math.min(bytes, 10_000));
      assert.equal(opened.whole, whole);
      await opened.close();
    }
  });
});

describe("a gzip file", () => {
  it("may have many members, cut anywhere", async () => {
    const members = ["a@b.c\n", "", "d@e.f\n", "g@h.i\n"].map((text) => gzipSync(text));
    const bytes = Buffer.concat(members);
    for (let at = 1; at < bytes.length; at += 1) {
      const text = await readText(sourceOf([bytes.subarray(0, at), bytes.subarray(at)]), LIMITS);
      assert.equal(String(text), "a@b.c\nd@e.f\ng@h.i\n", `cut at ${at}`);
    }
  });

  it("that ends too early cannot be read, wherever it ends", async () => {
    const bytes = gzipSync(LIST);
    for (let length = 2; length < bytes.length; length += 1) {
      assert.equal(
        await readText(sourceOf([bytes.subarray(0, length)]), LIMITS),
        "not_readable",
        `${length}`,
      );
    }
  });

  it("with anything else behind its members cannot be read: there may be rows in it", async () => {
    const member = gzipSync("a@b.c\n");
    const zeros = Buffer.alloc(10);
    for (const tail of [Buffer.concat([zeros, member]), Buffer.from("d@e.f\n"), Buffer.from([0x1f])]) {
      const bytes = Buffer.concat([member, tail]);
      for (let at = 1; at <= bytes.length; at += 1) {
        const source = sourceOf([bytes.subarray(0, at), bytes.subarray(at), Buffer.alloc(0)]);
        assert.equal(await readText(source, LIMITS), "not_readable", `cut at ${at}`);
      }
    }
  });

  it("that is damaged behind its head cannot be read either, and says so when it is reached", async () => {
    const bytes = gzipSync(noise(200_000));
    bytes.fill(0xff, 150_000, 150_100);
    const source = sourceOf(cut(bytes, [5_000]));
    const opened = await openText(source, LIMITS);
    assert.ok(opened.ok);
    await assert.rejects(
      async () => {
        for await (const _ of opened.text);
      },
      (error) => error instanceof CsvProblemError && error.problem.code === "not_readable",
    );
    assert.equal(source.closed, true);
  });

  it("that holds more than it may is given up when it does, with the rest of it unread", async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000, "a"));
    const many = sourceOf(repeated(bomb, 1_000));
    assert.equal(await readText(many, LIMITS), "bulk_too_large");
    assert.equal(many.closed, true);
    // A bomb is a single piece here; what is read ahead of need is a few.
    assert.ok(many.taken <= 10 * bomb.length, `${many.taken}`);
    assert.equal(
      (await readText(sourceOf([bomb]), { ...LIMITS, decompressedBytes: 20_000_000 })).length,
      20_000_000,
    );
  });
});

describe("reading", () => {
  it("takes from the source no more than it needs for the head, and only what is read from then on", async () => {
    const source = sourceOf(repeated(Buffer.alloc(1_000, "a"), 1_000));
    const opened = await openText(source, LIMITS);
    assert.ok(opened.ok);
    assert.equal(source.taken, 10_000);
    let read = 0;
    for await (const piece of opened.text) {
      read += piece.length;
      assert.ok(source.taken - read <= 1_000);
    }
    assert.equal(read, 1_000_000);
  });

  it("of a compressed source stays a few pieces ahead", async () => {
    const piece = gzipSync(noise(16_384));
    const source = sourceOf(repeated(piece, 500));
    const opened = await openText(source, { decompressedBytes: 100_000_000, sampleBytes: 1_000 });
    assert.ok(opened.ok);
    let ahead = 0;
    let read = 0;
    for await (const text of opened.text) {
      ahead = Math.max(ahead, source.taken - read);
      read += text.length;
      await new Promise(setImmediate);
    }
    assert.equal(read, 500 * 16_384);
    assert.ok(ahead <= 20 * piece.length, `${ahead}`);
  });

  it("closes the source when it is left or not begun, compressed or not", async () => {
    for (const piece of [
      Buffer.alloc(5_000, "a"),
      gzipSync(noise(5_000)),
      Buffer.from("a\n".repeat(5_000), "utf16le"),
    ]) {
      for (const begin of [true, false]) {
        const source = sourceOf(repeated(piece, 1_000));
        const opened = await openText(source, LIMITS);
        assert.ok(opened.ok);
        if (begin) for await (const _ of opened.text) break;
        else await opened.close();
        assert.equal(source.closed, true);
        assert.ok(source.taken < 100 * piece.length);
      }
    }
  });

  it("closes the decompression with it", async (test) => {
    const destroyed = test.mock.method(zlib.Gunzip.prototype, "_destroy");
    const opened = await openText(sourceOf(repeated(gzipSync(noise(5_000)), 1_000)), LIMITS);
    assert.ok(opened.ok);
    assert.equal(destroyed.mock.callCount(), 0);
    await opened.close();
    assert.equal(destroyed.mock.callCount(), 1);
  });

  it("passes the source's own errors on, at its opening and later", async () => {
    const broken = (after: number, piece: Buffer) =>
      sourceOf(
        (function* () {
          yield* repeated(piece, after);
          throw new Error("connection lost");
        })(),
      );
    for (const piece of [Buffer.alloc(5_000, "a"), gzipSync(noise(5_000))]) {
      await assert.rejects(readText(broken(1, piece), LIMITS), /connection lost/);
      await assert.rejects(readText(broken(50, piece), LIMITS), /connection lost/);
    }
  });
});
