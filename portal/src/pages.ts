/** The pages of the bar, in their order. */
export const PAGES = [
  { to: "/verify", title: "Verify" },
  { to: "/keys", title: "API keys" },
] as const;
