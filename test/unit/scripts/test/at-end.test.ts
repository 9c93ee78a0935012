import assert from "node:assert/strict";
import { test } from "node:test";
import { createClosers } from "../../../../scripts/test/at-end.ts";

test("what files of a process share is closed once, the last first, and all of it although one fails", async () => {
  // Not those of this process: other test files may still use what they close.
  const closers = createClosers();
  const closed: string[] = [];
  const closing = (name: string, fault?: Error) => async () => {
    closed.push(name);
    if (fault !== undefined) throw fault;
  };
  closers.add(closing("deployment"));
  closers.add(closing("browser", new Error("it hangs")));
  closers.add(closing("receiver"));
  await assert.rejects(closers.closeAll(), (error: AggregateError) => error.errors[0].message === "it hangs");
  assert.deepEqual(closed, ["receiver", "browser", "deployment"]);
  await closers.closeAll();
  assert.equal(closed.length, 3);
});
