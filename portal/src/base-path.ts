/** Path of the portal's public URL below its host; "" at the root. The server writes it into the page. */
export const BASE_PATH = document.querySelector<HTMLMetaElement>('meta[name="rcpt-base"]')?.content ?? "";
