/** The service puts no longer texts into a link: LIMITS.mail.teamNameChars, and RFC 5321, 4.5.3.1.3 for addresses. */
const TEAM_CHARS = 60;
const EMAIL_CHARS = 254;
/** Nor names that read like a link, or with invisible characters: `mailableName` in src/features/mail/texts.ts. */
const LIKE_LINK = /[/\\@:]|[\p{L}\p{N}]\s?[.\u2024\u3002\uff0e\uff61]\s?[\p{L}\p{N}]/u;
const UNSEEN = /[\p{Cc}\p{Cf}]|(?! )\p{Z}/u;

/** The address and the team that a mailed link names; null: it names none. To be shown, and no more: any page can hold such a link. */
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
  const team = short("team", TEAM_CHARS);
  const isMailable = team !== null && !LIKE_LINK.test(team) && !UNSEEN.test(team);
  return { email: short("email", EMAIL_CHARS), team: isMailable ? team : null };
}
