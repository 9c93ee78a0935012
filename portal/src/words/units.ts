/** Explains a unit of the quota, and which answers are free. */
export const UNIT_HINT =
  "A unit is one answered address. Test keys cost none, nor do rows of a list that are empty, malformed or repeat an " +
  "earlier address, nor answers that are unknown because a server or we failed.";
