import assert from "node:assert/strict";
import { test } from "node:test";
import { atEndOfProcess, endProcess } from "../../../../scripts/test/at-end.ts";

test("what files of a process share is closed once, the last first, and all of it although one fails", async () => {
  const closed: string[] = [];
  const closing = (name: string, fault?: Error) => async () => {
    closed.push(name);
    if (fault !== undefined) throw fault;
  };
  atEndOfProcess(closing("deployment"));
  atEndOfProcess(closing("browser", new Error("it hangs")));
  atEndOfProcess(closing("receiver"));
  await assert.rejects(endProcess(), (error: AggregateError) => error.errors[0].message === "it hangs");
  assert.deepEqual(closed, ["receiver", "browser", "deployment"]);
  await endProcess();
  assert.equal(closed.length, 3);
});
