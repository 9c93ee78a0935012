/** Parts of the panels' queries. `$namespace` and `$__rate_interval` are Grafana's. */

export const IN = 'namespace=~"$namespace"';

/** Query for a quantile of a histogram: `share` 0.99 gives the 99th percentile. */
export const quantile = (share: number, name: string, by: string, where = "") =>
  `histogram_quantile(${share}, sum by (le, ${by}) (rate(${name}_bucket{${IN}${where}}[$__rate_interval])))`;
export const rateOf = (name: string, by: string, where = "") =>
  `sum by (${by}) (rate(${name}{${IN}${where}}[$__rate_interval]))`;
export const shareOf = (part: string, whole: string) => `sum(${part}) / sum(${whole})`;
export const rate = (name: string, where = "") => `rate(${name}{${IN}${where}}[$__rate_interval])`;
