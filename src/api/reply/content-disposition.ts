/** What `encodeURIComponent` leaves and RFC 8187 §3.2.1 does not allow. */
const NOT_ALLOWED = /['()*]/g;

const percent = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/**
 * The value of `Content-Disposition` that has a browser save a body as a file (RFC 6266).
 *
 * @param plain name in ASCII without `"` and `\`, for clients that do not know `filename*`
 * @param name the better name, well-formed and in any script (RFC 8187); null: there is none
 */
export function attachment(plain: string, name: string | null): string {
  const value = `attachment; filename="${plain}"`;
  if (name === null) return value;
  return `${value}; filename*=UTF-8''${encodeURIComponent(name).replace(NOT_ALLOWED, percent)}`;
}
