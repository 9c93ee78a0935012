import assert from "node:assert/strict";
import { test } from "node:test";
import { type FaultContext, withMember } from "../../../../../scripts/chaos/faults/injury.ts";

const context = (members: { name: string; busy: boolean; pid: number | null }[]) =>
  ({ deployment: { members } }) as unknown as FaultContext;

test("a fault befalls the one that it picks, or the next that is free and there, and nothing else meanwhile", async () => {
  const members = ["a", "b", "c"].map((name) => ({ name, busy: name === "b", pid: name === "c" ? null : 1 }));
  const befallen: [string, boolean][] = [];
  await withMember(
    context(members),
    1,
    () => true,
    async ({ name, busy }) => void befallen.push([name, busy]),
  );
  assert.deepEqual(befallen, [["a", true]]);
  assert.equal(members[0]?.busy, false);
});

test("it waits for one while all are busy, and leaves it free also when it fails", async () => {
  const member = { name: "a", busy: true, pid: 1 };
  const failing = withMember(
    context([member]),
    7,
    () => true,
    () => Promise.reject(new Error("no")),
  );
  member.busy = false;
  await assert.rejects(failing, /^Error: no$/);
  assert.equal(member.busy, false);
});

test("it acts on no process where none is eligible", async () => {
  let acted = false;
  await withMember(
    context([{ name: "a", busy: false, pid: 1 }]),
    0,
    () => false,
    async () => {
      acted = true;
    },
  );
  assert.equal(acted, false);
});
