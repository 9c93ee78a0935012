/** Separators between the addresses of one line. */
const BETWEEN = /[,;\t ]+/;

/** Addresses as a list of one column: names may hold commas and quotes. */
export const csvOf = (addresses: readonly string[]): string =>
  ["email", ...addresses.map((address) => `"${address.replaceAll('"', '""')}"`), ""].join("\n");

/** The addresses of a text: a line each, or several on a line with something between them. */
export function pastedAddresses(text: string): string[] {
  const addresses: string[] = [];
  for (const line of text.split(/\r\n?|\n/)) {
    const entry = line.trim();
    if (entry === "") continue;
    // "Doe, Jane <jane@example.com>" is one address.
    const isOne = entry.indexOf("@") === entry.lastIndexOf("@");
    if (isOne) addresses.push(entry);
    else addresses.push(...entry.split(BETWEEN).filter((part) => part.includes("@")));
  }
  return addresses;
}
