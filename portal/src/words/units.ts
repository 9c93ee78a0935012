/** What a unit of the quota is, and what costs none. */
export const UNIT_HINT =
  "A unit is one answered address. Free are test keys; of a list, rows that are empty, malformed or repeat an earlier " +
  "address; and answers that are unknown because a server or we failed.";
