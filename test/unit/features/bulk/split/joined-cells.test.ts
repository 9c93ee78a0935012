import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  joinCells,
  joinValues,
  keepWanted,
  splitValues,
} from "../../../../../src/features/bulk/split/joined-cells.ts";
import fc from "../../../../support/properties.ts";

const value = fc.string({ unit: fc.constantFrom(";", "\\", '"', "a", ",", "ü", "\n"), maxLength: 8 });

describe("cells of several addresses", () => {
  for (const [values, cell] of [
    [["valid"], "valid"],
    [["valid", "invalid"], "valid;invalid"],
    [["", ""], ";"],
    [["a;b\\"], "a;b\\"],
    [["a;b", "c\\d", ""], "a\\;b;c\\\\d;"],
  ] as const)
    it(`${JSON.stringify(values)} is ${JSON.stringify(cell)}`, () => assert.equal(joinValues(values), cell));

  it("have their values known again, whatever these hold", () =>
    fc.assert(
      fc.property(fc.array(value, { minLength: 2, maxLength: 5 }), (values) => {
        assert.deepEqual(splitValues(joinValues(values)), values);
      }),
    ));

  it("are joined column by column; what one result lacks is empty", () => {
    const style = { delimiter: ",", escapeFormulas: false };
    const cells = joinCells([",valid,a@x.test,", ',risky,"b,c@x.test",y;z', ",unknown"], style);
    assert.equal(cells, ',valid;risky;unknown,"a@x.test;b,c@x.test;",;y\\;z;');
  });

  for (const [line, kept] of [
    ["n,c,valid;invalid;valid,1;2;3", "n,c,valid;valid,1;3"],
    ['"n,;",c,"invalid;valid",a\\;b;c\\;d', '"n,;",c,valid,c;d'],
    ["n,c,valid,x;y", "n,c,valid,x;y"],
  ] as const)
    it(`of ${line} those that are valid are ${kept}`, () => {
      const isValid = (cells: readonly string[]) => cells[0] === "valid";
      assert.equal(keepWanted(line, 2, isValid, { delimiter: "," }, true), kept);
    });

  for (const [line, isSplit] of [
    ["n,c,valid;risky,1;2", true],
    ["n,c,risky,2", true],
    ["n,c,risky,2", false],
  ] as const)
    it(`of ${line} none is left where none is wanted`, () => {
      const isWanted = ([verdict, number]: readonly string[]) => verdict === "valid" && number === "2";
      assert.equal(keepWanted(line, 2, isWanted, { delimiter: "," }, isSplit), null);
    });

  it("of a list whose cells were not split are values like others", () => {
    const isWanted = (cells: readonly string[]) => cells[1] === "a;b";
    assert.equal(keepWanted("n,valid,a;b", 1, isWanted, { delimiter: "," }, false), "n,valid,a;b");
  });
});
