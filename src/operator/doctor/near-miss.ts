/** Prefixes of our settings. A variable with such a name that is not a setting is probably a misspelt one. */
const FAMILIES =
  /^(SMTP|S3|DNSBL|STRIPE|DEFERRAL|BREAKER|CACHE|DATABASE|EGRESS|SHAPING|SHUTDOWN|DRAIN|PREFLIGHT|RETENTION)_/;
/** Variables that container runtimes write for each linked service, and those of our own tests and scripts. */
const FOREIGN = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP)(_|$)|^RCPT_(RUN|TEST)/;
/** Shorter names, and settings, have too many neighbours. */
const SHORTEST = 5;
const SHORTEST_SETTING = 8;

/** A variable that is not a setting, but was most likely meant as one. */
export interface NearMiss {
  variable: string;
  /** The setting it was probably meant as; null: no setting is similar. */
  meant: string | null;
}

/** Insertions, deletions, replacements and swaps of neighbours from one text to the other; more than `most` are `most + 1`. */
export function slipsBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      next.push(least);
    }
    before = row;
    row = next;
  }
  return Math.min(row[b.length] ?? 0, most + 1);
}

/** The setting that `name` was meant to be; null: none. */
function meantBy(name: string, settings: readonly string[]): string | null {
  if (name.startsWith("RCPT_") && settings.includes(name.slice(5))) return name.slice(5);
  if (settings.includes(name.toUpperCase())) return name.toUpperCase();
  const longer = settings.filter((setting) => setting.startsWith(`${name}_`));
  if (longer.length === 1 && FAMILIES.test(`${name}_`)) return longer[0] ?? null;
  const most = name.length < 9 ? 1 : 2;
  const near = settings
    .filter((setting) => setting.length >= SHORTEST_SETTING)
    .map((setting) => ({ setting, slips: slipsBetween(name, setting, most) }))
    .filter(({ slips }) => slips <= most)
    .sort((a, b) => a.slips - b.slips);
  return near[0]?.setting ?? null;
}

/**
 * Variables that look like settings and are not: no process reads them, and the intended setting has its default.
 * @param settings the names of all settings
 */
export function nearMisses(variables: readonly string[], settings: readonly string[]): NearMiss[] {
  const known = new Set(settings);
  return variables.flatMap((variable) => {
    const name = variable.replace(/_FILE$/, "");
    if (known.has(variable) || known.has(name) || FOREIGN.test(variable) || name.length < SHORTEST) return [];
    const meant = meantBy(name, settings);
    if (meant === null && (!FAMILIES.test(variable) || variable.endsWith("_PORT"))) return [];
    return [{ variable, meant }];
  });
}
