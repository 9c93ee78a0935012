import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Answer, decode, encode } from "dns-packet";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { readAnswer } from "../../../src/dns/answer.ts";
import {
  type DnsQuestion,
  decodeResponse,
  encodeQuery,
  type QueryType,
  responseId,
} from "../../../src/dns/message.ts";
import { addressRecords, mxRecords } from "../../../src/dns/records.ts";
import fc from "../../support/properties.ts";

const QUESTION: DnsQuestion = { name: "x.test", type: "MX" };
const RCODE = { ok: 0, servfail: 2, nxdomain: 3, refused: 5 };

interface Parts {
  rcode?: number;
  answers?: Answer[];
  authorities?: Answer[];
  question?: { name: string; type: QueryType };
}

function message({ rcode = 0, answers = [], authorities = [], question = QUESTION }: Parts): Buffer {
  return encode({ type: "response", id: 7, flags: rcode, questions: [question], answers, authorities });
}

const read = (parts: Parts) =>
  readAnswer(decodeResponse(message(parts), QUESTION) ?? assert.fail("no response"), QUESTION);

const mx = (name: string, exchange: string, ttl = 300): Answer => ({
  type: "MX",
  name,
  ttl,
  data: { preference: 10, exchange },
});
const cname = (name: string, data: string, ttl = 300): Answer => ({ type: "CNAME", name, ttl, data });
const soa = (ttl: number, minimum: number, name = "test"): Answer => ({
  type: "SOA",
  name,
  ttl,
  data: { mname: "ns.test", rname: "root.test", serial: 1, refresh: 1, retry: 1, expire: 1, minimum },
});
const ns = (name: string): Answer => ({ type: "NS", name, ttl: 60, data: "ns.test" });

describe("reading an answer", () => {
  it("takes the records of the name, whatever the case, with the least TTL", () => {
    const reading = read({
      answers: [mx("X.Test", "a.test", 300), mx("x.test", "b.test", 60), mx("y.test", "c.test", 1)],
    });
    assert.ok(reading.kind === "records");
    assert.deepEqual(
      [reading.ttlS, mxRecords(reading.records).map(({ exchange }) => exchange)],
      [60, ["a.test", "b.test"]],
    );
  });

  it("follows CNAMEs inside the answer; their TTLs count", () => {
    const reading = read({
      answers: [cname("x.test", "y.test", 30), cname("y.test", "z.test"), mx("z.test", "a.test")],
    });
    assert.ok(reading.kind === "records");
    assert.equal(reading.ttlS, 30);
  });

  it("asks for a target that the answer leaves out, but not when the SOA says there is nothing", () => {
    const answers = [cname("x.test", "y.test", 30)];
    assert.deepEqual(read({ answers }), { kind: "follow", target: "y.test", ttlS: 30 });
    assert.deepEqual(read({ answers, authorities: [soa(60, 60)] }), {
      kind: "no_data",
      ttlS: 30,
      proven: true,
    });
  });

  it("calls a circle of CNAMEs a failure", () => {
    const circle = [cname("x.test", "y.test"), cname("y.test", "x.test")];
    assert.deepEqual(read({ answers: circle }), { kind: "failure", code: "CNAME_LOOP" });
    assert.deepEqual(read({ answers: [cname("x.test", "x.test")] }), { kind: "failure", code: "CNAME_LOOP" });
  });

  it("calls no circle what leads to a name that cannot be asked for", () => {
    for (const target of [".", "a b.test", "a/b.test"])
      assert.deepEqual(read({ answers: [cname("x.test", target)] }), {
        kind: "failure",
        code: "CNAME_TARGET",
      });
  });

  it("distinguishes NXDOMAIN from NODATA, each with the SOA's negative TTL", () => {
    const authorities = [soa(900, 120)];
    assert.deepEqual(read({ rcode: RCODE.nxdomain, authorities }), {
      kind: "nxdomain",
      ttlS: 120,
      proven: true,
    });
    assert.deepEqual(read({ rcode: RCODE.nxdomain }), { kind: "nxdomain", ttlS: 60, proven: false });
    const noData = { kind: "no_data", proven: true };
    assert.deepEqual(read({ authorities: [soa(30, 120)] }), { ...noData, ttlS: 30 });
    assert.deepEqual(read({}), { kind: "no_data", ttlS: 60, proven: false });
    assert.deepEqual(read({ authorities: [soa(90_000, 90_000)] }), { ...noData, ttlS: 3_600 });
  });

  it("takes only the SOA of a zone that holds the name for proof, whatever a filter sends along", () => {
    const PROOFS: [owner: string, proven: boolean][] = [
      ["x.test", true],
      ["X.TEST", true],
      ["test", true],
      [".", true],
      ["rpz.filter.local", false],
      ["a.x.test", false],
      ["t", false],
      [".est", false],
    ];
    for (const [owner, proven] of PROOFS) {
      const authorities = [soa(30, 30, owner)];
      const ttlS = proven ? 30 : LIMITS.dns.negativeTtlDefaultS;
      assert.deepEqual(
        read({ rcode: RCODE.nxdomain, authorities }),
        { kind: "nxdomain", ttlS, proven },
        owner,
      );
      assert.deepEqual(read({ authorities }), { kind: "no_data", ttlS, proven }, owner);
    }
    const foreign = [soa(900, 900, "rpz.filter.local"), soa(30, 30)];
    assert.deepEqual(read({ authorities: foreign }), { kind: "no_data", ttlS: 30, proven: true });
    assert.equal(read({ authorities: [ns("test"), soa(30, 30, "rpz.filter.local")] }).kind, "failure");
  });

  it("wants the proof for the end of a chain of CNAMEs, not for its start", () => {
    const answers = [cname("x.test", "y.example", 90)];
    const nowhere = (owner: string) =>
      read({ rcode: RCODE.nxdomain, answers, authorities: [soa(30, 30, owner)] });
    assert.deepEqual(nowhere("example"), { kind: "nxdomain", ttlS: 30, proven: true });
    assert.deepEqual(nowhere("test"), { kind: "nxdomain", ttlS: 60, proven: false });
    const empty = (owner: string) => read({ answers, authorities: [soa(30, 30, owner)] });
    assert.deepEqual(empty("example"), { kind: "no_data", ttlS: 30, proven: true });
    assert.deepEqual(empty("test"), { kind: "follow", target: "y.example", ttlS: 90 });
  });

  it("takes a referral, an error code and a contradiction for failures, never for an absent domain", () => {
    assert.deepEqual(read({ authorities: [ns("test")] }), { kind: "failure", code: "REFERRAL" });
    assert.deepEqual(read({ rcode: RCODE.servfail }), { kind: "failure", code: "SERVFAIL" });
    assert.deepEqual(read({ rcode: RCODE.refused }), { kind: "failure", code: "REFUSED" });
    assert.deepEqual(read({ rcode: 9 }), { kind: "failure", code: "RCODE9" });
    assert.deepEqual(read({ rcode: RCODE.nxdomain, answers: [mx("x.test", "a.test")] }), {
      kind: "failure",
      code: "CONTRADICTION",
    });
  });

  it("reads the null MX, drops exchanges that are no names, and keeps the best of too many", () => {
    assert.deepEqual(mxRecords([mx("x.test", ".")]), [{ preference: 10, exchange: "" }]);
    assert.deepEqual(mxRecords([mx("x.test", "a b.test"), mx("x.test", "A.Test.")]), [
      { preference: 10, exchange: "a.test" },
    ]);
    const many: Answer[] = Array.from({ length: 1_000 }, (_, i) => ({
      type: "MX",
      name: "x.test",
      ttl: 1,
      data: { preference: 1_000 - i, exchange: `m${i}.test` },
    }));
    const kept = mxRecords(many);
    assert.deepEqual([kept.length, kept[0]?.exchange], [200, "m999.test"]);
  });
});

describe("a message from the wire", () => {
  it("must be a response to the very question", () => {
    assert.equal(responseId(message({})), 7);
    assert.equal(responseId(encodeQuery(7, "x.test", "MX")), -1);
    assert.equal(responseId(Buffer.alloc(4)), -1);
    assert.notEqual(decodeResponse(message({ question: { name: "X.TEST", type: "MX" } }), QUESTION), null);
    assert.equal(decodeResponse(message({ question: { name: "y.test", type: "MX" } }), QUESTION), null);
    assert.equal(decodeResponse(message({ question: { name: "x.test", type: "A" } }), QUESTION), null);
    const none = encode({ type: "response", id: 7, questions: [] });
    assert.equal(decodeResponse(none, QUESTION), null);
  });

  it("asks with recursion and EDNS0", () => {
    const query = decode(encodeQuery(7, "X.teSt", "MX"));
    assert.deepEqual([query.id, query.flag_rd, query.questions?.length], [7, true, 1]);
    assert.equal(query.questions?.[0]?.name, "X.teSt");
    const [opt] = query.additionals ?? [];
    assert.ok(opt?.type === "OPT");
    assert.equal(opt.udpPayloadSize, 1_232);
  });

  it("never makes anything throw, however it is mangled", () => {
    const honest = message({
      answers: [
        cname("x.test", "y.test"),
        mx("y.test", "a.test"),
        { type: "A", name: "y.test", ttl: 1, data: "192.0.2.1" },
      ],
      authorities: [soa(1, 1)],
    });
    const mutations = fc.array(fc.tuple(fc.nat({ max: honest.length - 1 }), fc.nat({ max: 255 })), {
      maxLength: 12,
    });
    const mutated = fc.tuple(mutations, fc.nat({ max: honest.length })).map(([changes, cut]) => {
      const bytes = Buffer.from(honest);
      for (const [at, value] of changes) bytes[at] = value;
      return cut % 3 === 0 ? bytes.subarray(0, cut) : bytes;
    });
    const random = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(mutated, random), (bytes) => {
        responseId(bytes);
        const packet = decodeResponse(bytes, QUESTION);
        if (packet === null) return;
        const reading = readAnswer(packet, QUESTION);
        if ("ttlS" in reading) assert.ok(reading.ttlS >= 0 && reading.ttlS <= 86_400);
        if (reading.kind !== "records") return;
        for (const { exchange } of mxRecords(reading.records)) assert.match(exchange, /^[a-z0-9._-]*$/);
        addressRecords(reading.records);
      }),
      { numRuns: 5_000 },
    );
  });
});
