/** The domains of a text: one a line, or with commas, semicolons or spaces between them. */
export const domainsOf = (text: string): string[] => text.split(/[\s,;]+/).filter((part) => part !== "");

/** Finds domains that contain the text. U-labels are listed as A-labels, so both forms of the text are tried. */
export function domainFinder(text: string): (domain: string) => boolean {
  const plain = text.trim().toLowerCase();
  const needles = [plain];
  try {
    needles.push(new URL(`http://${plain}`).hostname);
  } catch {
    // A part of a domain alone need not be a host.
  }
  return (domain) => needles.some((needle) => domain.includes(needle));
}
