/** Pages of the jobs of a team's test keys, without reading its live ones. For the collation see migration 31. */
export const testJobs = `
create index jobs_test on jobs (team_id, id collate "C") where not livemode;
`;
