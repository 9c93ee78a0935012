/** Longer texts are none of ours: LIMITS.mail.teamNameChars, and RFC 5321, 4.5.3.1.3 for addresses. */
const TEAM_CHARS = 60;
const EMAIL_CHARS = 254;

/** Whom a mailed link is for, as it says itself; null: it does not say it. To be shown, and no more: anybody can write a link. */
export interface LinkNames {
  email: string | null;
  team: string | null;
}

/** @param hash part of the link from its `#` on */
export function linkNames(hash: string): LinkNames {
  const parts = new URLSearchParams(hash.slice(1));
  const short = (name: string, chars: number) => {
    const text = parts.get(name)?.trim() ?? "";
    return text === "" || text.length > chars ? null : text;
  };
  return { email: short("email", EMAIL_CHARS), team: short("team", TEAM_CHARS) };
}
