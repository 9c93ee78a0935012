/** The pages of the bar, in their order. */
export const PAGES = [
  { to: "/verify", title: "Verify" },
  { to: "/lists", title: "Lists" },
  { to: "/usage", title: "Usage" },
  { to: "/keys", title: "API keys" },
  { to: "/team", title: "Team" },
  { to: "/blocklist", title: "Blocklist" },
  { to: "/settings", title: "Settings" },
] as const;
