import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { composeRequestWork } from "../../../src/app/request-work.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createLog } from "../../../src/platform/log.ts";

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
  });
});
