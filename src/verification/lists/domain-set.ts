/**
 * The member of `domains` that equals `domain` or is its nearest parent; null: there is none. Walks the labels of the
 * domain: 127 look-ups at most, none if the set is empty.
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
