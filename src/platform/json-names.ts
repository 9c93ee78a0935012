/** A text, or a mark that opens, closes or divides. Numbers and the other words of JSON say nothing of names. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/**
 * The first name that occurs twice in one object of `json`; null: no name does. `JSON.parse` silently keeps the last value
 * of such a name.
 * @param json a text that `JSON.parse` accepts. The time is linear in its length.
 */
export function repeatedName(json: string): string | null {
  /** Names of each object that is open; null for a list. */
  const open: (Set<string> | null)[] = [];
  let text = "";
  for (const [token] of json.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":") {
      const names = open.at(-1);
      const name: string = JSON.parse(text);
      if (names?.has(name)) return name;
      names?.add(name);
    } else if (token !== ",") text = token;
  }
  return null;
}
