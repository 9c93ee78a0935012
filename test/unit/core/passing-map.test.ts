import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PassingMap } from "../../../src/core/passing-map.ts";
import fc from "../../support/properties.ts";

const key = fc.constantFrom("a", "b", "c", "d");
const steps = fc.array(
  fc.oneof(
    fc.record({ verb: fc.constant("set" as const), key, value: fc.nat(99) }),
    fc.record({ verb: fc.constant("delete" as const), key }),
  ),
  { maxLength: 60 },
);

describe("a map of what comes and goes", () => {
  it("has what a Map has", () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const [mine, model] = [new PassingMap<string, number>(), new Map<string, number>()];
        for (const step of taken) {
          if (step.verb === "set") {
            mine.set(step.key, step.value);
            model.set(step.key, step.value);
          } else {
            mine.delete(step.key);
            model.delete(step.key);
          }
          assert.equal(mine.size, model.size);
          for (const name of ["a", "b", "c", "d", "e"]) assert.equal(mine.get(name), model.get(name));
        }
      }),
    );
  });
});
