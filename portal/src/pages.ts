/** The pages of the bar, in their order. */
export const PAGES = [
  { to: "/verify", title: "Verify" },
  { to: "/usage", title: "Usage" },
  { to: "/keys", title: "API keys" },
  { to: "/team", title: "Team" },
] as const;
