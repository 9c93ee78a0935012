import assert from "node:assert/strict";
import { it } from "node:test";
import { CHECKS } from "../../../../scripts/manifests/check.ts";
import type { Document } from "../../../../scripts/manifests/documents.ts";
import { built } from "./built.ts";

/** Documents with one thing broken, and what a check says of them. */

export function findings(check: string, documents: readonly Document[]): string[] {
  const [, run] = CHECKS.find(([name]) => name === check) ?? [];
  assert.ok(run, `no check ${check}`);
  return run(documents).map(({ where, text }) => `${where} ${text}`);
}

export type Break = (documents: Document[]) => void;
export type Case = readonly [name: string, breakIt: Break, expected: RegExp];

/** A test for each case. @param of the build that is broken */
export function finds(check: string, cases: readonly Case[], of = "production"): void {
  for (const [name, breakIt, expected] of cases)
    it(name, async () => {
      const documents = await built(of);
      assert.deepEqual(findings(check, documents), []);
      breakIt(documents);
      const found = findings(check, documents);
      assert.ok(
        found.some((line) => expected.test(line)),
        `${expected} is not in ${JSON.stringify(found)}`,
      );
    });
}

/** Sets fields of what must be there. */
export function set(target: object | undefined, values: object): void {
  assert.ok(target);
  Object.assign(target, values);
}

export const without = (kind: string, name: string): Break => {
  return (documents) => {
    const at = documents.findIndex((one) => one.kind === kind && one.metadata.name === name);
    assert.ok(at >= 0, `no ${kind} ${name}`);
    documents.splice(at, 1);
  };
};
