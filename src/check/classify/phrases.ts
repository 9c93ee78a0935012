/** Where phrases stand in a text: `hit` is called for each, in the order of their ends. */
export interface PhraseBook {
  /** Linear in the length of `text`, whatever it holds. @param hit index of the phrase, offset behind its last character */
  scan(text: string, hit: (phrase: number, end: number) => void): void;
}

/** The trie while it grows: edges of a node by symbol, phrases that end in it. */
interface Node {
  edges: Map<number, number>;
  phrases: number[];
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

function grow(phrases: readonly string[], table: Uint16Array): Node[] {
  const nodes: Node[] = [{ edges: new Map(), phrases: [] }];
  phrases.forEach((phrase, index) => {
    let at = 0;
    for (let i = 0; i < phrase.length; i++) {
      const symbol = table[phrase.charCodeAt(i)] ?? 0;
      let next = nodes[at]?.edges.get(symbol);
      if (next === undefined) {
        next = nodes.push({ edges: new Map(), phrases: [] }) - 1;
        nodes[at]?.edges.set(symbol, next);
      }
      at = next;
    }
    nodes[at]?.phrases.push(index);
  });
  return nodes;
}

/** Every node's step for every symbol, so that scanning is one look-up a character; phrases of suffixes joined in. */
function connect(nodes: readonly Node[], count: number): { steps: Uint16Array; ends: readonly number[][] } {
  if (nodes.length > 65_535) throw new Error("too many phrases for one book");
  const steps = new Uint16Array(nodes.length * count);
  const fallback = new Uint16Array(nodes.length);
  const ends = nodes.map(({ phrases }) => [...phrases]);
  const queue = [0];
  for (let head = 0; head < queue.length; head++) {
    const at = queue[head] ?? 0;
    const back = fallback[at] ?? 0;
    if (at !== 0) ends[at]?.push(...(ends[back] ?? []));
    for (let symbol = 0; symbol < count; symbol++) {
      const child = nodes[at]?.edges.get(symbol);
      const behind = at === 0 ? 0 : (steps[back * count + symbol] ?? 0);
      if (child === undefined) steps[at * count + symbol] = behind;
      else {
        steps[at * count + symbol] = child;
        fallback[child] = behind;
        queue.push(child);
      }
    }
  }
  return { steps, ends };
}

/**
 * An automaton (Aho and Corasick, 1975) that finds all of `phrases` in one pass. Built once a process; a few
 * milliseconds and some 100 bytes for each character of a phrase.
 */
export function compilePhrases(phrases: readonly string[]): PhraseBook {
  const { table, count } = symbolsOf(phrases);
  const { steps, ends } = connect(grow(phrases, table), count);
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
