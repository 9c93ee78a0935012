/** The pages of the bar, in their order. */
export const PAGES = [
  { to: "/verify", title: "Verify" },
  { to: "/lists", title: "Lists" },
  { to: "/usage", title: "Usage" },
  { to: "/keys", title: "API keys" },
  { to: "/team", title: "Team" },
  { to: "/webhooks", title: "Webhooks" },
  { to: "/blocklist", title: "Blocklist" },
  { to: "/overrides", title: "Disposable" },
  { to: "/settings", title: "Settings" },
] as const;
