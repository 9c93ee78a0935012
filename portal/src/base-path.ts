/** Where the portal is served below a path of its host, that path; else "". The server writes it into the page. */
export const BASE_PATH = document.querySelector<HTMLMetaElement>('meta[name="rcpt-base"]')?.content ?? "";
