/**
 * An address with A to Z in lower case, nothing else: how addresses of accounts are compared, here as in Postgres
 * (`lower(email collate "C")`), whatever locale either runs in. What folds beyond ASCII differs between the two, and an
 * address that one of them takes for another's would be that account's.
 */
export function foldAddress(address: string): string {
  return address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
