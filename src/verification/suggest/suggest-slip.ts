/** The keys beside each other on QWERTY boards, and what QWERTZ and AZERTY put elsewhere. */
const ROWS = ["1234567890-", "qwertyuiop", "asdfghjkl", "zxcvbnm"];
const SWAPPED_ON_OTHER_BOARDS = ["yz", "qa", "wz"];
/** Confused easily by eye or by ear. */
const ALIKE = ["0o", "1l", "1i", "il", "ae", "ei", "ao", "ou", "ck", "sz", "iy", "mn", "vw"];

const NEAR = new Set<string>();

function join(a: string | undefined, b: string | undefined): void {
  if (a === undefined || b === undefined) return;
  NEAR.add(a + b);
  NEAR.add(b + a);
}

for (const [i, row] of ROWS.entries()) {
  for (let k = 0; k < row.length; k++) {
    join(row[k], row[k + 1]);
    // A key touches two of the row below: `a` lies under `q` and `w`.
    join(row[k], ROWS[i + 1]?.[k]);
    join(row[k], ROWS[i + 1]?.[k - 1]);
  }
}
for (const [a, b] of [...SWAPPED_ON_OTHER_BOARDS, ...ALIKE]) join(a, b);

const SWAP = 0.6;
const DOUBLE = 0.6;
const NEAR_KEY = 0.7;
const DROP = 0.8;
const ANY = 1;
/** People see the first letter they type: `ymail`, `email` and `hmail` are names, not slips of `gmail`. */
const FIRST = 0.4;
/** Below this a letter that no finger or eye explains makes another name: `hostmail`, `outbook`, `incloud`, `dotmail`. */
const LONG = 9;
const NEVER = Number.POSITIVE_INFINITY;

const near = (a: string | undefined, b: string | undefined) => NEAR.has(`${a}${b}`);

function insertCost(typed: string, at: number, any: number): number {
  const key = typed[at];
  if (key === typed[at - 1] || key === typed[at + 1]) return DOUBLE;
  const cost = near(key, typed[at - 1]) || near(key, typed[at + 1]) ? DROP : any;
  return at === 0 ? cost + FIRST : cost;
}

function dropCost(meant: string, at: number): number {
  const doubled = meant[at] === meant[at - 1] || meant[at] === meant[at + 1];
  return (doubled ? DOUBLE : DROP) + (at === 0 ? FIRST : 0);
}

function replaceCost(typed: string | undefined, meant: string | undefined, any: number): number {
  if (typed === meant) return 0;
  return near(typed, meant) ? NEAR_KEY : any;
}

/** Another first letter is another name: `treenet`, `fanmail`, `mindstream`; in a long one, a key beside it may be meant. */
function firstCost(typed: string | undefined, meant: string | undefined, any: number): number {
  if (typed === meant) return 0;
  return any !== NEVER && near(typed, meant) ? NEAR_KEY + FIRST : NEVER;
}

/** One bit for each letter that a name has; digits and the hyphen share the rest. */
export function lettersOf(name: string): number {
  let letters = 0;
  for (let i = 0; i < name.length; i++) letters |= 1 << (name.charCodeAt(i) % 32);
  return letters;
}

/** Whether names with these letters may be within two slips: each adds a letter, takes one away, or both. */
export function mayBeTypo(typed: number, meant: number): boolean {
  let differing = typed ^ meant;
  for (let left = 4; left > 0 && differing !== 0; left--) differing &= differing - 1;
  return differing === 0;
}

/**
 * Cost of mistaking `meant` for `typed`: swapped neighbours, doubled, dropped, added and replaced letters. Each costs about
 * 1, and less for errors that fingers or eyes make easily. Infinity if the lengths differ by more than one: two letters
 * less are another name. Also in short names for an added or replaced letter that is not such an error. The time is the
 * product of the lengths, so callers bound them.
 */
export function nameTypoCost(typed: string, meant: string): number {
  return costOf(typed, meant, meant.length < LONG ? NEVER : ANY);
}

/** The same for an ending: one that does not exist is not a name of its own, so any letter may be wrong, also the first. */
export function endingTypoCost(typed: string, meant: string): number {
  // The dot takes the first place: in an ending no letter is spared.
  return costOf(`.${typed}`, `.${meant}`, ANY);
}

/** @param any cost of a wrong letter that is not an easy error of finger or eye */
function costOf(typed: string, meant: string, any: number): number {
  if (typed === meant) return 0;
  if (Math.abs(typed.length - meant.length) > 1) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let above: number[] = [0];
  for (let j = 1; j <= meant.length; j++) above.push((above[j - 1] ?? 0) + dropCost(meant, j - 1));
  for (let i = 1; i <= typed.length; i++) {
    const row = [(above[0] ?? 0) + insertCost(typed, i - 1, any)];
    for (let j = 1; j <= meant.length; j++) {
      let cost = Math.min(
        (above[j] ?? 0) + insertCost(typed, i - 1, any),
        (row[j - 1] ?? 0) + dropCost(meant, j - 1),
        (above[j - 1] ?? 0) + (i === 1 && j === 1 ? firstCost : replaceCost)(typed[i - 1], meant[j - 1], any),
      );
      const swapped = i > 1 && j > 1 && typed[i - 1] === meant[j - 2] && typed[i - 2] === meant[j - 1];
      if (swapped) cost = Math.min(cost, (before[j - 2] ?? 0) + SWAP);
      row.push(cost);
    }
    [before, above] = [above, row];
  }
  return above[meant.length] ?? Number.POSITIVE_INFINITY;
}
