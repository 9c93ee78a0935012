import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { composeRequestWork } from "../../../src/app/request-work.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { readPreview } from "../../../src/features/uploads/read-preview.ts";
import type { ReadBytes } from "../../../src/features/uploads/remote-bytes.ts";
import { createLog } from "../../../src/platform/log.ts";
import { MissingObject } from "../../../src/stores/objects/object-streams.ts";
import { workbookOf } from "../../support/workbook.ts";

/** Which work of a request is done in the thread: all that is refused once the thread is closed. */
const work = composeRequestWork(createLog("silent"));
after(() => work.part.stop?.());

const { rows, bytes } = LIMITS.bulk.inlineHere;
const { domainsReadHere } = LIMITS.overrides;
const list = (count: number, chars: number) =>
  Array.from({ length: count }, (_, i) => `${i}@b.example`.padStart(chars, "a"));
const domains = (count: number) => Array.from({ length: count }, (_, i) => `b\u00fccher${i}.example`);

describe("work of requests", () => {
  it("has the same result in the thread and on the event loop", async () => {
    const [here, there] = [list(rows, 20), list(rows + 1, 20)];
    assert.equal((await work.analyseInline(here, {}, "team_1")).rows, rows);
    const analysed = await work.analyseInline([...there, "0@b.example".padStart(20, "a")], {}, "team_1");
    assert.deepEqual([analysed.rows, analysed.duplicates, analysed.billable], [rows + 2, 1, rows + 1]);
    assert.ok(Buffer.isBuffer(analysed.content) && Buffer.isBuffer(analysed.repeats));
    const read = await work.readDomains(domains(domainsReadHere + 1), "team_1");
    assert.deepEqual(read.slice(0, 1), await work.readDomains(domains(1), "team_1"));
    const invalid = [...domains(domainsReadHere), "no domain"];
    await assert.rejects(work.readDomains(invalid, "team_1"), { code: "validation_failed" });
  });

  const owner = { share: "team_1", isCancelled: () => false };

  it("shows in a thread how a file would be read, which asks for the bytes", async () => {
    for (const file of [
      Buffer.from("a@ok.test; b@ok.test; c@ok.test; d@ok.test\n".repeat(20_000)),
      gzipSync("name,email\nA,a@ok.test\nB,b@ok.test\n"),
      Buffer.from("email\na@ok.test\n".repeat(9), "utf16le"),
      workbookOf({ sheets: [{ name: "People", rows: [["email"], ["a@ok.test"], ["b@ok.test"]] }] }),
    ]) {
      const read: ReadBytes = async (firstByte, bytes) => file.subarray(firstByte, firstByte + bytes);
      const input = { fileBytes: file.length, options: {}, bulkBytes: 1e6 };
      assert.deepEqual(await work.readPreview(input, read, owner), await readPreview(input, read));
    }
    const input = { fileBytes: 1_000, options: {}, bulkBytes: 1e6 };
    const binary = work.readPreview(input, async () => Buffer.alloc(1_000, "%PDF-1.4"), owner);
    await assert.rejects(binary, { code: "not_csv" });
  });

  it("throws what a thread's read of a file threw, and goes on with the next", async () => {
    const gone = new MissingObject("it has gone");
    const input = { fileBytes: 1_000, options: {}, bulkBytes: 1e6 };
    const failing = work.readPreview(input, () => Promise.reject(gone), owner);
    const next = work.readPreview(input, async () => Buffer.alloc(1_000, "a@ok.test\n"), owner);
    await assert.rejects(failing, (error) => error === gone);
    assert.equal((await next).sample.rows, 100);
  });

  it("is done in the thread for lists of many rows or bytes, and many domains", async () => {
    const closed = composeRequestWork(createLog("silent"));
    await closed.part.stop?.();
    const inThread = async (started: Promise<unknown>) => {
      const code = await started.then(
        () => null,
        (error: { code?: string }) => error.code,
      );
      return code === "unavailable";
    };
    const long = 1_000;
    const lists = [
      list(rows, 10),
      list(rows + 1, 10),
      list(Math.floor(bytes / (long + 1)), long),
      list(9, long),
    ];
    const where = [];
    for (const emails of lists) where.push(await inThread(closed.analyseInline(emails, {}, "team_1")));
    assert.deepEqual(where, [false, true, false, true]);
    assert.equal(await inThread(closed.readDomains(domains(domainsReadHere), "team_1")), false);
    assert.equal(await inThread(closed.readDomains(domains(domainsReadHere + 1), "team_1")), true);
    // A preview of any file: on the event loop it would have been read.
    const unread = () => assert.fail("it was read");
    assert.equal(
      await inThread(closed.readPreview({ fileBytes: 9, options: {}, bulkBytes: 9 }, unread, owner)),
      true,
    );
  });
});
