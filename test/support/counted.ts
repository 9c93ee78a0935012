import assert from "node:assert/strict";
import { BOUNDS, type Bound, type BoundId } from "../integration/counts/bounds.ts";

/** RCPT_COUNTS=1 prints every figure beside its bound, for setting new bounds. */
const PRINTS = process.env.RCPT_COUNTS !== undefined;

const round = (figure: number) => Number(figure.toPrecision(3));

/** @param elapsedS seconds in which the units were processed */
export function requireBounded(id: BoundId, count: number, units: number, elapsedS = 0): void {
  const { unit, today, each, perS = 0, least = 0, why }: Bound = BOUNDS[id];
  const most = units * each + elapsedS * perS;
  const found = `${id}: ${round(count / units)} a ${unit} (${count} for ${units}, in ${round(elapsedS)} s)`;
  if (PRINTS) process.stderr.write(`${found}; today ${today}, at most ${round(most / units)}\n`);
  assert.ok(
    count <= most,
    `${found}; it was ${today}, and ${round(most / units)} is the most: ${why} (test/integration/counts/bounds.ts)`,
  );
  assert.ok(count >= units * least, `${found}; less than ${least} cannot be: is it still counted?`);
}
