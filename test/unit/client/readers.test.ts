import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readJsonLines } from "../../../packages/client/src/streams/json-lines.ts";
import { piecesOf } from "../../../packages/client/src/streams/pieces.ts";
import { createEventParser, type ServerEvent } from "../../../packages/client/src/streams/sse.ts";
import fc from "../../support/properties.ts";

/** The bytes, cut at these places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

const places = fc.array(fc.nat({ max: 10_000 }), { maxLength: 20 });
const text = fc.string({ unit: "grapheme", maxLength: 30 });
const lineEnd = fc.constantFrom("\n", "\r", "\r\n");

function parsed(pieces: readonly Uint8Array[]): ServerEvent[] {
  const parser = createEventParser();
  const decoder = new TextDecoder();
  return pieces.flatMap((piece) => parser.feed(decoder.decode(piece, { stream: true })));
}

async function linesOf(pieces: readonly Uint8Array[]): Promise<unknown[]> {
  async function* coming() {
    yield* pieces;
  }
  const found: unknown[] = [];
  for await (const value of readJsonLines(coming())) found.push(value);
  return found;
}

describe("server-sent events", () => {
  it("are the same wherever their bytes are cut", () => {
    const one = fc.record({
      event: fc.constantFrom("job", "progress", "end", ""),
      data: fc.array(
        text.map((value) => value.replace(/[\r\n]/g, "")),
        { minLength: 1, maxLength: 3 },
      ),
      id: fc.option(fc.stringMatching(/^[a-z0-9-]{1,8}$/)),
      comment: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 6 }), lineEnd, places, (events, end, at) => {
        const lines = events.flatMap(({ event, data, id, comment }) => [
          ...(comment ? [": alive"] : []),
          ...(event === "" ? [] : [`event: ${event}`]),
          ...data.map((line) => `data: ${line}`),
          ...(id === null ? [] : [`id:${id}`]),
          "",
        ]);
        // Behind the last line end there is something: a CR alone may be half of a line end.
        const bytes = new TextEncoder().encode(`${lines.map((line) => line + end).join("")}:`);
        let lastEventId = "";
        const expected = events.map(({ event, data, id }) => {
          lastEventId = id ?? lastEventId;
          return { event: event || "message", data: data.join("\n"), lastEventId };
        });
        assert.deepEqual(parsed(cut(bytes, at)), expected);
      }),
    );
  });

  it("are read as the standard has it", () => {
    const stream =
      "\uFEFFdata:no space\ndata\nid: 1\n\nretry: 10\nother: x\n\nid: a\0b\ndata: kept\n\ndata: cut off\n";
    assert.deepEqual(parsed([new TextEncoder().encode(stream)]), [
      { event: "message", data: "no space\n", lastEventId: "1" },
      { event: "message", data: "kept", lastEventId: "1" },
    ]);
  });
});

describe("the pieces of a body", () => {
  it("are an error when nothing comes any more, and the body is cancelled", async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(3)),
      cancel() {
        isCancelled = true;
      },
    });
    const pieces = piecesOf(new Response(body), { silenceMs: 20 });
    assert.equal((await pieces.next()).value?.length, 3);
    await assert.rejects(pieces.next(), { code: "network_error" });
    assert.equal(isCancelled, true);
  });
});

describe("JSON lines", () => {
  it("are the same wherever their bytes are cut", async () => {
    const value = fc.record({ row: fc.nat(), input: text }, { noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(fc.array(value), fc.boolean(), places, async (values, isEnded, at) => {
        const lines = values.map((one) => JSON.stringify(one)).join("\n") + (isEnded ? "\n" : "");
        assert.deepEqual(await linesOf(cut(new TextEncoder().encode(lines), at)), values);
      }),
    );
  });

  it("are whole: one that is cut off is no value", async () => {
    const bytes = new TextEncoder().encode('{"row":1}\r\n\n{"row":2');
    await assert.rejects(linesOf([bytes]), { code: "malformed_answer" });
  });
});
