/**
 * The member of `domains` that `domain` is or is below of, the nearest one; null when there is none. Walks the labels
 * of the domain: 127 look-ups at most, none where the set is empty.
 */
export function nearestIn(domain: string, domains: ReadonlySet<string>): string | null {
  if (domains.size === 0) return null;
  if (domains.has(domain)) return domain;
  for (let dot = domain.indexOf("."); dot !== -1; dot = domain.indexOf(".", dot + 1)) {
    const parent = domain.slice(dot + 1);
    if (domains.has(parent)) return parent;
  }
  return null;
}
