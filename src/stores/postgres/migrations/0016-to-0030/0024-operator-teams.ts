/** The team of those who run the deployment may read its state. */
export const operatorTeams = `
alter table teams add column operator boolean not null default false;
`;
