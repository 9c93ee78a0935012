const HOST_NAME = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/**
 * Lower case, without a trailing dot; "" is the root.
 * @returns null unless it is a host name: labels not empty or overlong, at most 253 octets, only letters, digits, hyphens
 *   and underscores. A name from the wire may hold any byte, also dots inside a label.
 */
export function normalizeName(text: string): string | null {
  const name = (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase();
  if (name === "") return text === "." ? "" : null;
  return name.length <= 253 && HOST_NAME.test(name) ? name : null;
}
