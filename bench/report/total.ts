import type { Measured } from "./report.ts";

/** Time budget of a run of all sections on two cores: a longer bench would not be run. */
const ALLOWED_S = { full: 1_200, quick: 180 };

/** The run itself as a line of the table. */
export function totalTarget(tookS: number, quick: boolean): Measured {
  const allowanceS = quick ? ALLOWED_S.quick : ALLOWED_S.full;
  const what = `the whole ${quick ? "quick" : "full"} run, services and compiling included`;
  return {
    name: "bench",
    section: null,
    failure: null,
    isInvalid: false,
    tookS,
    allowanceS,
    targets: [{ id: "bench.duration", what, unit: "s", figure: tookS, atMost: allowanceS }],
  };
}
