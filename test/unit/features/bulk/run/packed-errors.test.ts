import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interruption } from "../../../../../src/features/bulk/run/control.ts";
import { SourceUnavailable } from "../../../../../src/features/bulk/run/foreign-sources.ts";
import { lossOf } from "../../../../../src/features/bulk/run/losses.ts";
import { packError, unpackError } from "../../../../../src/features/bulk/run/packed-errors.ts";
import { SourceLost } from "../../../../../src/features/bulk/submit/source-rows.ts";
import {
  ChangedObject,
  ForbiddenObject,
  MissingObject,
} from "../../../../../src/stores/objects/object-streams.ts";

/** As it comes out of the other thread. */
const across = (error: unknown) => unpackError(structuredClone(packError(error)));

describe("an error that crosses to another thread", () => {
  for (const error of [
    new SourceLost("source_changed"),
    new SourceLost("source_missing"),
    new SourceLost("s3_not_granted"),
    new SourceUnavailable("Its bucket is away."),
    new ForbiddenObject("no"),
    new MissingObject("gone"),
    new ChangedObject("another one"),
    new Interruption("away"),
    new TypeError("undefined is no result"),
  ])
    it(`is the same loss there: ${error.name}, ${error.message}`, () => {
      const there = across(error);
      assert.deepEqual(lossOf(there), lossOf(error));
      assert.equal(there instanceof Interruption, error instanceof Interruption);
      assert.deepEqual([there.message, there.stack], [error.message, error.stack]);
    });

  it("has its causes with it, with their codes, and nothing else that hangs on it", () => {
    const cause = Object.assign(new Error("refused"), { code: "ECONNREFUSED", secret: () => "s" });
    const there = across(new Interruption("a dependency is away", { cause }));
    assert.equal((there.cause as NodeJS.ErrnoException).code, "ECONNREFUSED");
    assert.ok(!("secret" in (there.cause as Error)));
  });

  it("may have causes that never end", () => {
    const error = new Error("a ring");
    error.cause = error;
    assert.equal(across(error).message, "a ring");
  });

  it("may be no error at all", () => {
    assert.equal(across("a text").message, "a text");
  });
});
