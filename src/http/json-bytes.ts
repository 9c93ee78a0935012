const encoder = new TextEncoder();

/**
 * What is kept to be sent again and again, as JSON in UTF-8. In memory of its own: a small Buffer is cut from a slab of
 * 8 KiB, which the last of its neighbours would keep whole.
 */
export function jsonBytes(value: object): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}
