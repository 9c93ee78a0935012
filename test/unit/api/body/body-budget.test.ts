import assert from "node:assert/strict";
import { it } from "node:test";
import { createBodyBudget } from "../../../../src/api/body/body-budget.ts";

it("an account holds its share of a budget, all together no more than that, and what is given back is free", () => {
  const budget = createBodyBudget({ bytes: 100, share: 0.5 });
  const [a, b, c] = [budget.accountOf("a"), budget.accountOf("b"), budget.accountOf("c")];
  assert.equal(a.take(51), false);
  assert.equal(a.take(50), true);
  assert.equal(budget.accountOf("a").take(1), false, "another request of the same account");
  assert.equal(b.take(40), true);
  assert.equal(c.take(11), false, "the budget is used up");
  assert.equal(c.take(10), true);
  a.giveBack(50);
  assert.equal(c.take(40), true);
  assert.equal(c.take(1), false);
  b.giveBack(40);
  c.giveBack(50);
  assert.equal(a.take(50) && b.take(50), true);
});

it("what is charged in any case counts, and is given back", () => {
  const budget = createBodyBudget({ bytes: 100, share: 0.5 });
  const [a, b] = [budget.accountOf("a"), budget.accountOf("b")];
  a.charge(80);
  assert.equal(a.take(1), false);
  assert.equal(b.take(21), false, "the budget is used up");
  a.giveBack(80);
  assert.equal(a.take(50) && b.take(50), true);
});

it("its kept part is for accounts with little", () => {
  const budget = createBodyBudget({ bytes: 100, share: 0.5, keptShare: 0.2, littleBytes: 10 });
  const [a, b, c] = [budget.accountOf("a"), budget.accountOf("b"), budget.accountOf("c")];
  assert.equal(a.take(50) && b.take(30), true);
  assert.equal(b.take(1), false, "it has much");
  assert.equal(c.take(10), true);
  assert.equal(c.take(1), false, "it would have much");
  assert.equal(budget.accountOf("d").take(10), true);
  assert.equal(budget.accountOf("e").take(1), false, "the kept part is used up");
  a.giveBack(50);
  assert.equal(c.take(1), true);
});

it("accounts of one site have a share together", () => {
  const budget = createBodyBudget({ bytes: 100, share: 0.2, siteShare: 0.3 });
  const [a, b] = [budget.accountOf("a", "site"), budget.accountOf("b", "site")];
  assert.equal(a.take(20) && b.take(10), true);
  assert.equal(b.take(1), false);
  assert.equal(budget.accountOf("c", "other site").take(20), true);
  assert.equal(budget.accountOf("d").take(20), true);
  a.giveBack(20);
  assert.equal(b.take(10), true);
});
