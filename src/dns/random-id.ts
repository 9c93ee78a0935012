import { randomFillSync } from "node:crypto";

const ids = new Uint16Array(1_024);
let next = ids.length;

/** An unpredictable message id that `isTaken` does not refuse; random bytes are drawn in blocks. */
export function randomId(isTaken: (id: number) => boolean): number {
  for (;;) {
    if (next === ids.length) {
      randomFillSync(ids);
      next = 0;
    }
    const id = ids[next++] ?? 0;
    if (!isTaken(id)) return id;
  }
}
