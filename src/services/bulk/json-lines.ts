/** Lines of JSON, each ended by a newline. */
export function writeJsonLines(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

/**
 * The values of lines that we wrote ourselves.
 * @throws Error for a line that is no JSON; without its text, which may hold an address
 */
export function readJsonLines<T>(content: Buffer): T[] {
  return content
    .toString("utf8")
    .split("\n")
    .slice(0, -1)
    .map((line, i) => {
      try {
        return JSON.parse(line) as T;
      } catch {
        throw new Error(`line ${i + 1} of ${content.length} bytes is not JSON`);
      }
    });
}
