const BEYOND_ASCII = /[\u0080-\uffff]/;

/**
 * A body as it is to be handed to uWebSockets.js: that for Node.js 22 and newer writes a string whose characters are all
 * below U+0100 as Latin-1, where UTF-8 was promised. Text in ASCII, nearly all of ours, stays a string.
 */
export function toWireText(body: string | Uint8Array): string | Uint8Array {
  return typeof body === "string" && BEYOND_ASCII.test(body) ? Buffer.from(body) : body;
}
