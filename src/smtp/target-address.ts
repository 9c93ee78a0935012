import { isIP } from "node:net";

/**
 * The source address for a site: always the same one, so that greylisting and a site's opinion of us stay with it.
 * @returns null: let the system choose (none configured); undefined: none of the family of `address`.
 */
export function sourceFor(
  site: string,
  address: string,
  sources: readonly string[],
): string | null | undefined {
  if (sources.length === 0) return null;
  const fitting = sources.filter((source) => isIP(source) === isIP(address));
  let hash = 0x811c9dc5;
  for (let i = 0; i < site.length; i++) hash = Math.imul(hash ^ site.charCodeAt(i), 0x01000193);
  return fitting[(hash >>> 0) % fitting.length];
}
