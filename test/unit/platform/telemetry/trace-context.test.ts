import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ROOT_CONTEXT } from "@opentelemetry/api";
import { SamplingDecision, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace-base";
import { newId } from "../../../../src/platform/ids.ts";
import { isInRatio, jobSpanRef, parseTraceparent } from "../../../../src/platform/telemetry/trace-context.ts";
import fc from "../../../support/properties.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

function hex(digits: number): fc.Arbitrary<string> {
  const digit = fc.constantFrom(..."0123456789abcdef");
  return fc.array(digit, { minLength: digits, maxLength: digits }).map((all) => all.join(""));
}

describe("parseTraceparent", () => {
  it("reads the example of the specification", () => {
    const sampled = { traceId: TRACE, spanId: SPAN, sampled: true };
    assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-01`), sampled);
    assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-00`), { ...sampled, sampled: false });
  });

  it("goes by the lowest bit of the flags alone", () => {
    assert.equal(parseTraceparent(`00-${TRACE}-${SPAN}-fe`)?.sampled, false);
    assert.equal(parseTraceparent(`00-${TRACE}-${SPAN}-ff`)?.sampled, true);
  });

  it("reads what later versions have in common with this one", () => {
    assert.equal(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-the-future-holds`)?.traceId, TRACE);
    assert.equal(parseTraceparent(`cc-${TRACE}-${SPAN}-01`)?.spanId, SPAN);
  });

  const WRONG: Record<string, string> = {
    "version ff": `ff-${TRACE}-${SPAN}-01`,
    "more behind version 00": `00-${TRACE}-${SPAN}-01-more`,
    "a later version without a dash": `cc-${TRACE}-${SPAN}-01.more`,
    "a trace of zeros": `00-${"0".repeat(32)}-${SPAN}-01`,
    "a parent of zeros": `00-${TRACE}-${"0".repeat(16)}-01`,
    "upper case": `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    "a short trace": `00-${TRACE.slice(1)}-${SPAN}-01`,
    "a short parent": `00-${TRACE}-${SPAN.slice(1)}-01`,
    "no flags": `00-${TRACE}-${SPAN}-`,
    "one flag": `00-${TRACE}-${SPAN}-1`,
    "space around": ` 00-${TRACE}-${SPAN}-01`,
    "space behind": `00-${TRACE}-${SPAN}-01 `,
    "two of them": `00-${TRACE}-${SPAN}-01,00-${TRACE}-${SPAN}-01`,
    "a very long one": `cc-${TRACE}-${SPAN}-01-${"x".repeat(1_000)}`,
    nothing: "",
  };
  for (const [name, header] of Object.entries(WRONG))
    it(`takes no ${name}`, () => assert.equal(parseTraceparent(header), null));

  it("never throws, and what it takes is as it was sent", () => {
    const near = fc
      .tuple(hex(2), hex(32), hex(16), hex(2), fc.string({ maxLength: 8 }))
      .map(([version, trace, span, flags, rest]) => `${version}-${trace}-${span}-${flags}${rest}`);
    const bytes = fc.uint8Array({ maxLength: 300 }).map((all) => Buffer.from(all).toString("latin1"));
    fc.assert(
      fc.property(fc.oneof(near, bytes, fc.string({ unit: "binary", maxLength: 300 })), (header) => {
        const parent = parseTraceparent(header);
        if (parent === null) return;
        assert.match(parent.traceId, /^[0-9a-f]{32}$/);
        assert.match(parent.spanId, /^[0-9a-f]{16}$/);
        assert.equal(header.slice(3, 52), `${parent.traceId}-${parent.spanId}`);
      }),
    );
  });
});

describe("jobPlace", () => {
  it("is the same for all processes, another for each job, and valid", () => {
    const ids = Array.from({ length: 1_000 }, () => newId("job"));
    const places = ids.map(jobSpanRef);
    assert.deepEqual(places, ids.map(jobSpanRef));
    assert.equal(new Set(places.map(({ traceId }) => traceId)).size, ids.length);
    for (const { traceId, spanId } of places)
      assert.notEqual(parseTraceparent(`00-${traceId}-${spanId}-01`), null);
  });

  it("does not change from build to build: processes of both work on a job", () => {
    assert.deepEqual(jobSpanRef("job_0"), {
      traceId: "785615df867e4615f38634c3bfc7016f",
      spanId: "d5855ab63931b51d",
    });
  });
});

describe("isInRatio", () => {
  it("takes all, or none", () => {
    fc.assert(fc.property(hex(32), (trace) => isInRatio(trace, 1) && !isInRatio(trace, 0)));
  });

  it("takes more the higher the ratio is, and never another for a higher one", () => {
    fc.assert(
      fc.property(hex(32), fc.double({ min: 0, max: 1, noNaN: true }), (trace, ratio) => {
        if (isInRatio(trace, ratio)) assert.ok(isInRatio(trace, Math.min(1, ratio + 0.1)));
      }),
    );
  });

  it("takes what OpenTelemetry's own sampler takes", () => {
    fc.assert(
      fc.property(hex(32), fc.double({ min: 0, max: 1, noNaN: true }), (trace, ratio) => {
        fc.pre(!/^0+$/.test(trace));
        const { decision } = new TraceIdRatioBasedSampler(ratio).shouldSample(ROOT_CONTEXT, trace);
        assert.equal(isInRatio(trace, ratio), decision === SamplingDecision.RECORD_AND_SAMPLED);
      }),
    );
  });

  it("takes about so many jobs", () => {
    const taken = Array.from({ length: 10_000 }, (_, i) => jobSpanRef(`job_${i}`).traceId).filter((trace) =>
      isInRatio(trace, 0.1),
    );
    // The ids are fixed: the same number each time.
    assert.ok(taken.length > 900 && taken.length < 1_100, `${taken.length}`);
  });
});
