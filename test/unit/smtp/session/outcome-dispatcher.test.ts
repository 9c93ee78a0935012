import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OutcomeDispatcher } from "../../../../src/smtp/session/outcome-dispatcher.ts";
import type { RcptCaller } from "../../../../src/smtp/session/rcpt-job.ts";
import type { RcptOutcome } from "../../../../src/smtp/wire/outcome.ts";

const outcome = (detail: string) => ({ kind: "failure", detail }) as RcptOutcome;

describe("the tellings of outcomes", () => {
  /** A caller that records what it gets, as `name detail`, and then runs `next`. */
  function world() {
    const tellings = new OutcomeDispatcher();
    const heard: string[] = [];
    const asker = (name: string, next: () => void = () => {}): RcptCaller => ({
      cancelled: () => false,
      deadlineAt: Number.POSITIVE_INFINITY,
      onSettled(told) {
        heard.push(`${name} ${told.kind === "failure" ? told.detail : ""}`);
        next();
      },
    });
    return { tellings, heard, asker };
  }

  it("are delivered once the call is over, each to its caller, in order", async () => {
    const { tellings, heard, asker } = world();
    for (const round of [1, 2]) {
      for (const name of ["a", "b", "c"]) tellings.add(outcome(`${round}`), asker(name));
      assert.deepEqual(heard.splice(0), []);
      await Promise.resolve();
      assert.deepEqual(heard.splice(0), [`a ${round}`, `b ${round}`, `c ${round}`]);
    }
  });

  it("reach a caller that is answered while another is notified, after all others", async () => {
    const { tellings, heard, asker } = world();
    const again = asker("a", () => tellings.add(outcome("second"), asker("a")));
    tellings.add(outcome("first"), again);
    tellings.add(outcome("first"), asker("b"));
    await Promise.resolve();
    assert.deepEqual(heard.splice(0), ["a first", "b first", "a second"]);
    tellings.add(outcome("third"), asker("c"));
    await Promise.resolve();
    assert.deepEqual(heard, ["c third"], "nobody hears twice");
  });
});
