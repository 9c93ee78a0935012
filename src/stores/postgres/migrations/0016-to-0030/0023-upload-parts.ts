/** Clients may choose the size of an upload's parts. null: the size follows from the file's. */
export const uploadParts = `
alter table uploads add column part_bytes bigint;
`;
