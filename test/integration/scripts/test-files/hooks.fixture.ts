// Hooks of a file: one writes, one fails.
import { after, beforeEach, describe, it } from "node:test";

beforeEach(() => console.error("a hook ran"));
after(() => {
  throw new Error("it cannot be closed");
});
describe("a suite", () => {
  it("passes", () => undefined);
});
