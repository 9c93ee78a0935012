import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { recheckColumn } from "../../../../src/features/bulk/columns/recheck-column.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createPreviewUpload } from "../../../../src/features/uploads/preview.ts";
import { readPreview } from "../../../../src/features/uploads/read-preview.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import type { ObjectStreams } from "../../../../src/stores/objects/object-streams.ts";
import { analysedList, analyseList } from "../../../support/analysed-list.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import fc from "../../../support/properties.ts";

const latin1 = (bytes: string) => Buffer.from(bytes, "latin1");
/** 名前 and メール in Shift_JIS. */
const HEADER = latin1("\x96\xbc\x91\x4f,\x83\x81\x81\x5b\x83\x8b\n");
const row = (email: string) => latin1(`\x93\x63\x92\x86,${email}\n`);

const clock = createFakeClock();

function fail(): never {
  throw new Error("nothing is read");
}

function previewOf(list: Buffer) {
  const preview = createPreviewUpload({
    read: readPreview,
    clock,
    sources: { find: async () => ({ key: "list", etag: "1", bytes: list.length, filename: "list.csv" }) },
    streams: {
      readRange: async (_ref, { firstByte, bytes }) => list.subarray(firstByte, firstByte + bytes),
    },
  });
  const actor = { limits: { bulkBytes: 1e8 } } as Actor;
  return preview(actor, "upl_1", {}, new AbortController().signal);
}

describe("previews", () => {
  it("have places for test keys apart from the live ones", async () => {
    const { previewsPerTeam } = LIMITS.uploads;
    const waiting: (() => void)[] = [];
    const preview = createPreviewUpload({
      read: readPreview,
      clock,
      sources: {
        find: () =>
          new Promise((_, reject) => {
            waiting.push(() => reject(new Error("ended")));
          }),
      },
      streams: { readRange: async () => fail() },
    });
    const ask = (livemode: boolean, teamId = "team_1") => {
      const actor = { teamId, livemode, limits: { bulkBytes: 1e8 } } as Actor;
      return preview(actor, "upl_1", {}, new AbortController().signal);
    };
    const asked = Array.from({ length: previewsPerTeam }, () => ask(false));
    await assert.rejects(ask(false), { code: "overloaded" });
    asked.push(ask(true));
    assert.equal(waiting.length, previewsPerTeam + 1);
    // The last places are for shares that have none.
    const { previews, previewsKept } = LIMITS.uploads;
    for (let i = waiting.length; i < previews - previewsKept; i++) asked.push(ask(true, `team_${i}`));
    await assert.rejects(ask(true), { code: "overloaded" });
    for (let i = 0; i < previewsKept; i++) asked.push(ask(true, `late_${i}`));
    await assert.rejects(ask(true, "last"), { code: "overloaded" });
    for (const end of waiting) end();
    for (const ended of asked) await assert.rejects(ended, /ended/);
  });
});

describe("a preview that waits for another", () => {
  const { previewMs, previewsPerTeam } = LIMITS.uploads;

  function createPreviews() {
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const preview = createPreviewUpload({
      read: (_input, _read, { share }) =>
        new Promise((_, reject) => {
          begun.push(share);
          ends.set(share, () => reject(new Error("ended")));
        }),
      clock,
      sources: { find: async () => ({ key: "list", etag: "1", bytes: 1, filename: "list.csv" }) },
      streams: { readRange: async () => fail() },
    });
    const ask = (teamId: string, signal = new AbortController().signal) =>
      preview({ teamId, livemode: true, limits: { bulkBytes: 1e8 } } as Actor, "upl_1", {}, signal);
    return { begun, ends, ask };
  }

  it("gives its slot back as soon as its client leaves", async () => {
    const { begun, ends, ask } = createPreviews();
    const first = assert.rejects(ask("other"), /ended/);
    await clock.advanceAsync(0);
    for (let i = 0; i < 3 * previewsPerTeam; i++) {
      const client = new AbortController();
      const left = assert.rejects(ask("team_1", client.signal), /the client has gone/);
      await clock.advanceAsync(0);
      client.abort(new Error("the client has gone"));
      await left;
    }
    const last = assert.rejects(ask("team_1"), /ended/);
    ends.get("other")?.();
    await first;
    await clock.advanceAsync(0);
    assert.deepEqual(begun, ["other", "team_1"]);
    ends.get("team_1")?.();
    await last;
    assert.equal(clock.pending, 0);
  });

  it("waits no longer than it may last, and one that is read does not either", async () => {
    const { begun, ends, ask } = createPreviews();
    const first = assert.rejects(ask("other"), { code: "unavailable" });
    await clock.advanceAsync(previewMs - 1);
    const second = assert.rejects(ask("team_1"), { code: "unavailable" });
    // The thread is still busy with the first: the next waits for its end.
    await clock.advanceAsync(1);
    await first;
    await clock.advanceAsync(previewMs);
    await second;
    assert.deepEqual(begun, ["other"]);
    const third = assert.rejects(ask("team_1"), /ended/);
    ends.get("other")?.();
    await clock.advanceAsync(0);
    assert.deepEqual(begun, ["other", "team_1"]);
    ends.get("team_1")?.();
    await third;
    assert.equal(clock.pending, 0);
  });
});

describe("what a preview reads of a file", () => {
  const { previewFileBytes, previewPieceBytes, previewMs } = LIMITS.uploads;
  const fileBytes = 10 * previewFileBytes;
  const actor = { limits: { bulkBytes: fileBytes } } as Actor;

  function previewBy(readRange: ObjectStreams["readRange"]) {
    const find = async () => ({ key: "list", etag: "1", bytes: fileBytes, filename: "list.csv" });
    const preview = createPreviewUpload({
      read: readPreview,
      clock,
      sources: { find },
      streams: { readRange },
    });
    return preview(actor, "upl_1", {}, new AbortController().signal);
  }

  it("is little of most, and bounded where that shows no rows", async () => {
    let bytesRead = 0;
    const fill = (text: string) =>
      previewBy(async (_ref, { bytes }) => {
        bytesRead += bytes;
        return Buffer.alloc(bytes, text);
      });
    await fill("a@ok.test\n");
    assert.equal(bytesRead, previewPieceBytes);
    for (const nothing of ["\0", ";,;\n"]) {
      bytesRead = 0;
      const first = nothing === "\0" ? "" : "a@ok.test,b@ok.test;c@ok.test\n";
      await assert.rejects(fill(first + nothing.repeat(previewPieceBytes / nothing.length)), {
        code: "not_readable",
      });
      assert.ok(bytesRead <= previewFileBytes);
    }
  });

  it("is read within a time", async () => {
    const slow = previewBy(
      (_ref, _range, cancelled) =>
        new Promise((_, reject) => cancelled?.addEventListener("abort", () => reject(cancelled.reason))),
    );
    const refused = assert.rejects(slow, { code: "unavailable" });
    await clock.advanceAsync(previewMs);
    await refused;
    assert.equal(clock.pending, 0);
  });
});

describe("a list in an old encoding", () => {
  it("is previewed with the names of its columns as text", async () => {
    const list = Buffer.concat([HEADER, row("a@ok.test"), row("b@ok.test")]);
    const { layout, header, candidates, rows } = await previewOf(list);
    assert.equal(layout.encoding, "shift_jis");
    assert.deepEqual(header, ["名前", "メール"]);
    assert.deepEqual(
      candidates.map(({ name }) => name),
      ["メール"],
    );
    assert.deepEqual(rows[0], { row: 1, input: "a@ok.test", columns: ["田中", "a@ok.test"] });
  });

  it("has a column that is called e-mail in it, when all rows have been read too", async () => {
    const list = await analysedList(
      Buffer.concat([HEADER, ...Array.from({ length: 30 }, () => row("a@ok.test"))]),
    );
    assert.equal(recheckColumn(list, { addresses: 30, distinct: 1 }), null);
  });
});

describe("what a preview tells of the list's size", () => {
  const HEAD_BYTES = LIMITS.bulk.sampleBytes;
  const ROWS = 20_000;
  const line = (n: number) => `person-${n % (ROWS - 500)}@example.com,Some Name ${n * 7919}\n`;
  const long = `email,name\n${Array.from({ length: ROWS }, (_, n) => line(n)).join("")}`;

  it("is exact of a file that was read whole, and as its job counts it", async () => {
    const list = Buffer.from(
      "# of today\nName,Email\nA,a@ok.test\nB,b@ok.test\nA again,a@OK.test\nC,\nD,no address\nTotal: 5\n",
    );
    for (const file of [list, gzipSync(list)]) {
      const { sample, estimated_rows } = await previewOf(file);
      const several = { rows: 0, addresses: 0 };
      assert.deepEqual(sample, { rows: 5, bytes: file.length, whole: true, repeats: 1, several });
      assert.equal(estimated_rows, 5);
    }
  });

  it("is refused as its job would be, of a list with nothing to verify", async () => {
    const code = (wanted: string) => (error: unknown) => error instanceof AppError && error.code === wanted;
    for (const header of ["email,b\n", "# of today\r\nemail;b\r\n\r\n", "sep=,\nemail,b\n"])
      await assert.rejects(previewOf(Buffer.from(header)), code("empty_source"), header);
    const none = Buffer.from(`email,b\n${"x,y\n".repeat(6)}`);
    await assert.rejects(previewOf(none), code("no_email_column"));
  });

  it("is what the job counts, of any small list", async () => {
    const cell = fc.constantFrom("a@ok.test", "b@ok.test", "A@ok.test", "", "no address", "x", '"a\nb"');
    const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(rows, fc.boolean(), async (cells, isEnded) => {
        const text = cells.map((row) => row.join(",")).join("\n");
        const list = Buffer.from(`email,b,c\n${text}${isEnded ? "\n" : ""}`);
        const { found } = await analyseList(list);
        if (!found.ok) return;
        const { sample, estimated_rows } = await previewOf(list);
        assert.deepEqual([sample.rows, sample.whole, estimated_rows], [found.rows, true, found.rows]);
      }),
    );
  });

  it("is an estimate of a larger one, by the bytes that its first rows take", async () => {
    const utf16 = Buffer.from(`\ufeff${long}`, "utf16le");
    for (const [file, unit] of [
      [Buffer.from(long), 1],
      [utf16, 2],
    ] as const) {
      const { sample, estimated_rows } = await previewOf(file);
      assert.equal(sample.whole, false);
      const read = file.subarray(0, sample.bytes).toString(unit === 1 ? "latin1" : "utf16le");
      assert.ok(read.endsWith("\n") && sample.bytes <= unit * HEAD_BYTES);
      assert.equal(read.split("\n").length - 2, sample.rows);
      assert.ok(sample.rows > LIMITS.bulk.sampleRows);
      assert.ok(Math.abs((estimated_rows ?? 0) - ROWS) < ROWS / 20, String(estimated_rows));
    }
  });

  it("counts rows whose address was there before", async () => {
    const repeating = `email,name\n${Array.from({ length: ROWS }, (_, n) => `c${n % 100}@example.com,n\n`).join("")}`;
    const { sample } = await previewOf(Buffer.from(repeating));
    assert.equal(sample.repeats, sample.rows - 100);
  });

  it("counts rows with several addresses as a job with split_cells splits them", async () => {
    const many = Array.from({ length: LIMITS.bulk.cellAddresses + 1 }, (_, i) => `m${i}@ok.test`).join(" ");
    const list = Buffer.from(
      `Name,Email\nA,a@ok.test\nB,"b@ok.test, c@ok.test"\nD,d@ok.test; e@ok.test; f@ok.test\nM,${many}\nN,nothing\n`,
    );
    const { sample } = await previewOf(list);
    assert.deepEqual(sample.several, { rows: 2, addresses: 5 });
    const { found } = await analyseList(list, { splitCells: true });
    assert.ok(found.ok);
    assert.equal(found.rows, sample.rows - sample.several.rows + sample.several.addresses);
  });

  it("is not guessed where the file's size does not tell", async () => {
    const addresses = Array.from({ length: ROWS }, (_, n) => `person-${n}@example.com`).join("; ");
    for (const file of [gzipSync(long), Buffer.from(addresses)]) {
      const { sample, estimated_rows } = await previewOf(file);
      assert.deepEqual([sample.whole, estimated_rows], [false, null]);
      assert.ok(sample.rows > 1_000 && sample.bytes <= HEAD_BYTES);
    }
    // A job would fail there.
    const rows = "a@ok.test\n".repeat(2_000);
    const broken = `email\n${rows}b@ok.test${",x".repeat(3_000)}\n`;
    const { sample, estimated_rows } = await previewOf(Buffer.from(broken + rows.repeat(40)));
    assert.deepEqual([sample.whole, estimated_rows], [false, null]);
    await assert.rejects(previewOf(Buffer.from(broken)), { code: "too_many_columns" });
  });
});
