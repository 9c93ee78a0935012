/** Finds phrases in a text: calls `hit` for each, in the order of their ends. */
export interface PhraseBook {
  /** Linear in the length of `text`, whatever it holds. @param hit index of the phrase, offset behind its last character */
  scan(text: string, hit: (phrase: number, end: number) => void): void;
}

/**
 * The trie: a node's children are a chain of siblings. Arrays of numbers rather than a map for each node, which took
 * 30 ms of garbage collection in every thread that starts.
 */
interface Trie {
  /** By node: its first child, and its parent's next child; 0 for none, since the root is never a child. */
  firstChild: number[];
  nextSibling: number[];
  /** By node: the symbol of its edge. */
  symbol: number[];
  /** By node: the phrases that end at it. */
  ends: number[][];
}

/** A number for each character that any phrase holds; 0 for all others. */
function symbolsOf(phrases: readonly string[]): { table: Uint16Array; count: number } {
  const table = new Uint16Array(65_536);
  let count = 1;
  for (const phrase of phrases)
    for (let i = 0; i < phrase.length; i++) {
      const code = phrase.charCodeAt(i);
      if (table[code] === 0) table[code] = count++;
    }
  return { table, count };
}

const NO_PHRASES: number[] = [];

function grow(phrases: readonly string[], table: Uint16Array): Trie {
  const trie: Trie = { firstChild: [0], nextSibling: [0], symbol: [0], ends: [NO_PHRASES] };
  phrases.forEach((phrase, index) => {
    let at = 0;
    for (let i = 0; i < phrase.length; i++) at = childOf(trie, at, table[phrase.charCodeAt(i)] ?? 0);
    trie.ends[at] = [...(trie.ends[at] ?? NO_PHRASES), index];
  });
  return trie;
}

/** The child of `at` by that symbol, created if missing. */
function childOf({ firstChild, nextSibling, symbol, ends }: Trie, at: number, by: number): number {
  let child = firstChild[at] ?? 0;
  while (child !== 0 && symbol[child] !== by) child = nextSibling[child] ?? 0;
  if (child !== 0) return child;
  const made = symbol.push(by) - 1;
  nextSibling.push(firstChild[at] ?? 0);
  firstChild[at] = made;
  firstChild.push(0);
  ends.push(NO_PHRASES);
  return made;
}

/**
 * Computes the step of every node for every symbol, so that scanning is one look-up a character. Phrases that are suffixes
 * of others are included.
 */
function connect({ firstChild, nextSibling, symbol, ends }: Trie, count: number): Uint16Array {
  const nodes = symbol.length;
  if (nodes > 65_535) throw new Error("too many phrases for one book");
  const steps = new Uint16Array(nodes * count);
  const fallback = new Uint16Array(nodes);
  const queue = [0];
  for (let head = 0; head < queue.length; head++) {
    const at = queue[head] ?? 0;
    const back = fallback[at] ?? 0;
    const row = at * count;
    if (at !== 0) {
      const ofSuffix = ends[back] ?? NO_PHRASES;
      if (ofSuffix.length > 0) ends[at] = [...(ends[at] ?? NO_PHRASES), ...ofSuffix];
      // The row as a whole, then the few steps that are its own: symbol by symbol it took 150 ms of a thread's start.
      steps.copyWithin(row, back * count, (back + 1) * count);
    }
    for (let child = firstChild[at] ?? 0; child !== 0; child = nextSibling[child] ?? 0) {
      const step = row + (symbol[child] ?? 0);
      fallback[child] = at === 0 ? 0 : (steps[step] ?? 0);
      steps[step] = child;
      queue.push(child);
    }
  }
  return steps;
}

/**
 * An automaton (Aho and Corasick, 1975) that finds all of `phrases` in one pass. Built once a process; a few
 * milliseconds and some 100 bytes for each character of a phrase.
 */
export function compilePhrases(phrases: readonly string[]): PhraseBook {
  const { table, count } = symbolsOf(phrases);
  const trie = grow(phrases, table);
  const { ends } = trie;
  const steps = connect(trie, count);
  const speaks = Uint8Array.from(ends, (found) => (found.length > 0 ? 1 : 0));
  return {
    scan(text, hit) {
      let at = 0;
      for (let i = 0; i < text.length; i++) {
        at = steps[at * count + (table[text.charCodeAt(i)] ?? 0)] ?? 0;
        if (speaks[at] === 1) for (const phrase of ends[at] ?? []) hit(phrase, i + 1);
      }
    },
  };
}
