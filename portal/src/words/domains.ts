/** The host with A-labels; null: the text is not one. It may also begin a URL. */
function hostOf(text: string): string | null {
  try {
    return new URL(`http://${text}`).hostname;
  } catch {
    // A part of a domain alone need not be a host.
    return null;
  }
}

/** Text of a URL besides its host. */
const BESIDES_HOST = /[/?#@:\\%]/;

/** The form in which the API keeps a domain; what is no domain stays as it is. */
function keptForm(domain: string): string {
  const plain = domain.toLowerCase().replace(/\.$/, "");
  return BESIDES_HOST.test(plain) ? plain : (hostOf(plain) ?? plain);
}

/**
 * The domains of a text: one a line, or with commas, semicolons or spaces between them. `repeats` is how many are left out
 * because the text has them before.
 */
export function domainsOf(text: string): { domains: string[]; repeats: number } {
  const all = text.split(/[\s,;]+/).filter((part) => part !== "");
  const first = new Map<string, string>();
  for (const domain of all) {
    const form = keptForm(domain);
    if (!first.has(form)) first.set(form, domain);
  }
  return { domains: [...first.values()], repeats: all.length - first.size };
}

/** Finds domains that contain the text. U-labels are listed as A-labels, so both forms of the text are tried. */
export function domainFinder(text: string): (domain: string) => boolean {
  const plain = text.trim().toLowerCase();
  const host = hostOf(plain);
  const needles = host === null ? [plain] : [plain, host];
  return (domain) => needles.some((needle) => domain.includes(needle));
}
