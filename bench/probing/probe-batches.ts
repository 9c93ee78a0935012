/** As the pieces of a job's chunk are, at most: what high volume comes in. */
export const ADDRESSES_PER_BATCH = 500;
/** So many that every connection finds the next addresses waiting; together below what the pool admits. */
export const BATCHES_IN_FLIGHT = 10;
/** Rows that are cut into batches together, those of a domain into one where they fit: as the chunks of a long list are. */
export const ROWS_PER_CHUNK = 5_000;
