/** Text of docs/configuration.md before and after its tables. */
export const HEAD = `# Configuration

Every setting is an environment variable. This page is written by \`npm run docs\` from the schema in
\`src/config/settings.ts\` and the texts in \`scripts/docs/setting-descriptions.ts\`; a test fails when they differ.

- Each setting may be given as \`NAME_FILE\`, the path of a file with its value (mounted secrets); not both.
- A wrong setting stops the process at once, with exit code 2 and one line that names it. \`npm run doctor\` names all.
- \`required\` settings have no default. A setting without default and without a value switches its feature off.
- Behind PgBouncer, list \`statement_timeout\`, \`idle_in_transaction_session_timeout\` and \`jit\` in
  \`ignore_startup_parameters\`, and set them on the role ([compatibility.md](compatibility.md#postgresql)).
- Bounds that are no settings are in \`src/config/limits/limits.ts\`, those of the tiers in \`src/config/tiers.ts\`.
`;

export const TAIL = `## Shaping

\`SHAPING\` is a JSON object laid over the built-in [shaping](../src/egress/shaping.json), with up to three members:

| member | holds |
|---|---|
| \`default\` | how all sites are treated |
| \`providers\` | by name: known ones, or new ones with \`mx: ["mx*.hoster.example"]\` |
| \`sites\` | by the registrable domain that an exchanger is in, one an entry. A name that can never apply is refused |

| field | means |
|---|---|
| \`maxConnections\` | connections to the site, for each source address or proxy |
| \`transactionsPerSession\`, \`rejectionsPerSession\` | recipients, and refused ones, of a session; null: as the server allows |
| \`pipelineDepthMax\` | recipients in one write |
| \`tls\` | \`never\`, \`opportunistic\` or \`required\` |
| \`habit\` | \`accepts_all\`, \`refuses_all\`: the provider's word about a mailbox tells nothing; \`none\` takes a built-in one back |
| \`source\` | a note: where the figures come from |
| \`ways\` | egress routes: \`"203.0.113.5"\`, \`"proxy:10.0.0.1:1080"\`, \`"direct"\`. Where a provider or site has several, each recipient keeps to one, and each route has a cap of its own |
`;
