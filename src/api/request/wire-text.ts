const BEYOND_ASCII = /[\u0080-\uffff]/;

/**
 * A body in the form that uWebSockets.js sends correctly. Its build for Node.js 22 and newer writes a string whose
 * characters are all below U+0100 as Latin-1, although UTF-8 is promised. ASCII text, nearly all of ours, remains a string.
 */
export function toWireText(body: string | Uint8Array): string | Uint8Array {
  return typeof body === "string" && BEYOND_ASCII.test(body) ? Buffer.from(body) : body;
}
