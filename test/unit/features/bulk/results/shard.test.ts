import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  decodeShard,
  encodeShard,
  ResultsTooLarge,
  StoredResult,
} from "../../../../../src/features/bulk/results/shard.ts";
import { UnknownShardForm } from "../../../../../src/features/bulk/results/templated-part.ts";
import { createTestKeys } from "../../../../../src/features/verify/answer/test-keys.ts";
import type { VerificationResult } from "../../../../../src/features/verify/answer/verification-result.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import fc from "../../../../support/properties.ts";

const keys = createTestKeys({ clock: createFakeClock(), slowMs: 0, isPromoted: () => false });
const overlay = { isBlocked: () => false, isDisposable: () => false };
const COMMA = { delimiter: ",", escapeFormulas: false };

async function resultOf(email: string): Promise<VerificationResult> {
  return keys.answer(email, false, { probing: true, overlay });
}

async function frames(...emails: string[]): Promise<Buffer> {
  const rows = await Promise.all(
    emails.map(async (email, offset) => ({ offset, result: await resultOf(email) })),
  );
  return gunzipSync(await encodeShard(rows, COMMA));
}

describe("a shard", () => {
  it("gives back each row's verdict, cells and JSON, by its offset, whatever the address", async () => {
    const result = await resultOf("role@example.com");
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(LIMITS.bulk.rowsPerLargeChunk - 1), { maxLength: 20 }),
        fc.string({ unit: "grapheme" }),
        async (offsets, email) => {
          const rows = offsets.map((offset) => ({
            offset,
            result: { ...result, email: `${email}${offset}` },
          }));
          const shard = await decodeShard(await encodeShard(rows, COMMA));
          assert.equal(shard.size, rows.length);
          for (const { offset, result } of rows) {
            const stored = shard.get(offset);
            assert.deepEqual(JSON.parse(String(stored?.json)), JSON.parse(JSON.stringify(result)));
            assert.equal(stored?.verdict, "risky");
          }
        },
      ),
    );
  });

  it("has the cells of the API, as the job's delimiter wants them", async () => {
    const result = { ...(await resultOf("role@example.com")), email: 'ä "b";c' };
    const score = result.risk_score;
    const style = { delimiter: ";", escapeFormulas: false };
    const shard = await decodeShard(await encodeShard([{ offset: 7, result }], style));
    assert.equal(String(shard.get(7)?.csv), `;risky;role_address;${score};"ä ""b"";c";;refused;role;false;`);
  });

  it("guards its cells against formulas where it is asked to", async () => {
    const result = { ...(await resultOf("valid@example.com")), email: "=1+1@example.com" };
    const cellsIn = async (escapeFormulas: boolean) =>
      String(
        (
          await decodeShard(await encodeShard([{ offset: 0, result }], { delimiter: ",", escapeFormulas }))
        ).get(0)?.csv,
      );
    assert.match(await cellsIn(false), /,=1\+1@example\.com,/);
    assert.match(await cellsIn(true), /,'=1\+1@example\.com,/);
  });

  it("of no rows is empty", async () => {
    assert.equal((await decodeShard(await encodeShard([], COMMA))).size, 0);
  });

  it("is refused when it was cut off, or is not what was written", async () => {
    const good = await frames("valid@example.com", "role@example.com");
    for (let end = 1; end < good.length; end += 97)
      if (end !== 11 + good.readUInt32BE(3) + good.readUInt32BE(7))
        await assert.rejects(decodeShard(gzipSync(good.subarray(0, end))), /a shard ends within/, `${end}`);
    const twice = Buffer.concat([good, good]);
    await assert.rejects(decodeShard(gzipSync(twice)), /cannot be/);
    const verdict = Buffer.from(good);
    verdict[2] = 4;
    await assert.rejects(decodeShard(gzipSync(verdict)), /cannot be/);
    const far = Buffer.from(good);
    far.writeUInt16BE(LIMITS.bulk.rowsPerLargeChunk, 0);
    await assert.rejects(decodeShard(gzipSync(far)), /cannot be/);
    await assert.rejects(decodeShard(Buffer.from("no gzip")));
    await assert.rejects(decodeShard(gzipSync(good).subarray(0, -9)));
  });

  it("is kept as the bytes it came as: its rows are parts of them, made when they are asked for", async () => {
    const result = await resultOf("valid@example.com");
    const rows = Array.from({ length: 100 }, (_, offset) => ({ offset, result }));
    const shard = await decodeShard(await encodeShard(rows, COMMA));
    assert.equal(shard.size, 100);
    const bytesOf = (offset: number) => {
      const stored = shard.get(offset);
      assert.ok(stored instanceof StoredResult);
      return stored.bytes;
    };
    for (let offset = 0; offset < 100; offset++) assert.equal(bytesOf(offset), bytesOf(0));
    assert.equal(shard.get(100), undefined);
    assert.notEqual(shard.get(1), shard.get(1));
  });

  it("of a newer build's form is distinguished from a broken one", async () => {
    const newer = [
      Buffer.from([0xff, 3, 0, 0]),
      gzipSync(Buffer.from([0xff, 3, 0, 0])),
      Buffer.from([0xfe, 1, 0, 0]),
      gzipSync(Buffer.from([0xfe, 1, 0, 0])),
      Buffer.from([0xf0]),
    ];
    for (const bytes of newer) await assert.rejects(decodeShard(bytes), UnknownShardForm);
    const broken = [
      Buffer.from([0xff]),
      Buffer.from([0xff, 0, 0, 0]),
      Buffer.from([0xff, 1, 0]),
      Buffer.from([0xff, 2, 0]),
      gzipSync(Buffer.from([0, 1])),
      Buffer.from([0xef, 1]),
      Buffer.from("no gzip"),
      Buffer.alloc(0),
    ];
    for (const bytes of broken)
      await assert.rejects(decodeShard(bytes), (error) => !(error instanceof UnknownShardForm));
  });

  it("that an earlier build drew, without normal forms, is read as it was written", async () => {
    const u32 = (value: number) => Buffer.from([0, 0, 0, value]);
    const texts = ['"retry_at":null}', ",risky,", ",x", '","verdict":"risky","latency_ms":', ","];
    const lines = texts.flatMap((text) => [u32(text.length), Buffer.from(text)]);
    const template = [Buffer.from([2]), u32(1), u32(2), u32(3), u32(4)];
    const row = (offset: number, email: string, latencyMs: number) => [
      ...[Buffer.from([0, offset]), u32(0), u32(0), u32(latencyMs)],
      ...[Buffer.from([0, email.length]), Buffer.from(email)],
    ];
    const rows = [u32(2), ...row(3, "a@one.test", 7), ...row(1, "bob@two.test", 12)];
    const parts = [Buffer.from([0xff, 1]), u32(texts.length), ...lines, u32(1), ...template, ...rows];
    const shard = await decodeShard(Buffer.concat(parts));
    assert.equal(shard.size, 2);
    assert.equal(String(shard.get(3)?.csv), ",risky,a@one.test,x");
    assert.deepEqual(
      [3, 1].map((offset) => JSON.parse(String(shard.get(offset)?.json))),
      [
        { email: "a@one.test", verdict: "risky", latency_ms: 7, retry_at: null },
        { email: "bob@two.test", verdict: "risky", latency_ms: 12, retry_at: null },
      ],
    );
  });

  it("of a chunk's most rows, each as large as one can be, is within its bound", async () => {
    const { rowsPerLargeChunk, chunkBytes } = LIMITS.bulk;
    const { mxHostsReported, replyTextChars, addressChars } = LIMITS.check;
    const host = "h".repeat(LIMITS.overrides.domainChars);
    const usual = await resultOf("valid@example.com");
    const largest: VerificationResult = {
      ...usual,
      // Counted below: the rows of a chunk share the bytes of its source.
      email: "",
      did_you_mean: '"'.repeat(LIMITS.http.emailBytes),
      checks: { ...usual.checks, mx: { ...usual.checks.mx, hosts: Array(mxHostsReported).fill(host) } },
      evidence: {
        ...{
          stage: "catch_all",
          code: 550,
          enhanced_code: "5.999.999",
          rule: "r".repeat(100),
          mx_host: host,
        },
        // Six bytes each as JSON, and one in a cell: no character takes more.
        reply: "\u0001".repeat(replyTextChars + 1),
      },
    };
    const row = gunzipSync(await encodeShard([{ offset: 0, result: largest }], COMMA)).length;
    // The same of an address; a chunk ends with the record that gets to its size.
    const addresses = (chunkBytes + 4 * addressChars) * 7;
    const most = rowsPerLargeChunk * row + addresses;
    assert.ok(most <= LIMITS.results.shardBytes, `${most} bytes, ${row} a row`);
    assert.ok(row > 10_000);
  });

  it("is not unzipped beyond its bound", async () => {
    const bomb = gzipSync(Buffer.alloc(LIMITS.results.shardBytes + 1));
    await assert.rejects(decodeShard(bomb), { code: "ERR_BUFFER_TOO_LARGE" });
  });

  it("takes no result beyond its bound", async () => {
    const result = {
      ...(await resultOf("valid@example.com")),
      email: "a".repeat(LIMITS.results.resultBytes),
    };
    const small = await resultOf("valid@example.com");
    const rows = [0, 1, 2].map((offset) => ({ offset, result: offset === 1 ? small : result }));
    await assert.rejects(encodeShard(rows, COMMA), (error) => {
      assert.ok(error instanceof ResultsTooLarge);
      assert.deepEqual([...error.offsets], [0, 2]);
      return true;
    });
  });
});
