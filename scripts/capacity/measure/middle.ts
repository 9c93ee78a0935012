/** Questions that servers were asked until a moment, counted from the beginning. */
export interface Asked {
  atMs: number;
  questions: number;
}

/**
 * The part of a list that is evaluated. Its start opens connections and puts rows off; its end consists of the last few
 * retries.
 */
export const MIDDLE = { from: 0.2, to: 0.8 } as const;
const LOOK_EVERY_MS = 100;

/** Counts until `end`. @throws Error of `count` */
export function countQuestions(count: () => Promise<number>): { end(): Promise<Asked[]> } {
  const asked: Asked[] = [];
  let ended = false;
  async function look(): Promise<void> {
    while (!ended) {
      asked.push({ atMs: performance.now(), questions: await count() });
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    asked.push({ atMs: performance.now(), questions: await count() });
  }
  const looking = look();
  looking.catch(() => undefined);
  return {
    async end() {
      ended = true;
      await looking;
      return asked;
    },
  };
}

/** Questions a second in the middle of a list. @throws Error when it was looked at too seldom to tell */
export function middlePerS(asked: readonly Asked[]): number {
  const all = asked.at(-1)?.questions ?? 0;
  const middle = asked.filter(
    ({ questions }) => questions >= MIDDLE.from * all && questions <= MIDDLE.to * all,
  );
  const [first, last] = [middle[0], middle.at(-1)];
  if (first === undefined || last === undefined || last.atMs <= first.atMs)
    throw new Error("a list was over before its middle was seen");
  return ((last.questions - first.questions) * 1_000) / (last.atMs - first.atMs);
}
