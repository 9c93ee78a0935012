/**
 * An address with A to Z in lower case and nothing else changed: how account addresses are compared, here as in Postgres
 * (`lower(email collate "C")`), whatever locale either runs in. Folding beyond ASCII differs between the two, and could
 * make one account's address match another's.
 */
export function foldAddress(address: string): string {
  return address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
