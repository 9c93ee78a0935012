const AT = 0x40;

/** The one that was asked for last in this thread. */
let last = "";

/**
 * The domain of an address, after its last `@`: the same string as long as it is the same domain, which in a batch it is for row
 * after row. One that was looked up before has its hash, and is compared by its place.
 */
export function domainOf(address: string): string {
  const at = address.length - last.length - 1;
  if (last !== "" && address.charCodeAt(at) === AT && address.endsWith(last)) return last;
  last = address.slice(address.lastIndexOf("@") + 1);
  return last;
}
