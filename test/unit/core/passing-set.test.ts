import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PassingSet } from "../../../src/core/passing-set.ts";
import fc from "../../support/properties.ts";

const steps = fc.array(fc.record({ comes: fc.boolean(), who: fc.nat(5) }), { maxLength: 60 });

describe("a set of what comes and goes", () => {
  it("has who a Set has", () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const people = Array.from({ length: 6 }, () => ({ seat: 0 }));
        const [mine, model] = [new PassingSet<{ seat: number }>(), new Set<{ seat: number }>()];
        for (const { comes, who } of taken) {
          const person = people[who] ?? assert.fail();
          if (!comes) assert.equal(mine.delete(person), model.delete(person));
          else if (!model.has(person)) {
            mine.add(person);
            model.add(person);
          }
          assert.equal(mine.size, model.size);
          assert.deepEqual(new Set(mine.items), model);
        }
      }),
    );
  });
});
