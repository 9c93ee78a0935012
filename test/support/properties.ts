// biome-ignore lint/style/noRestrictedImports: this is the one place.
import fc from "fast-check";

/**
 * fast-check, with the seed of the run (RCPT_TEST_SEED, which `npm test` sets and prints): what a property draws depends on it
 * alone, so that the same code gets the same verdict every time. A file that is run by itself draws by chance.
 */
const seed = process.env.RCPT_TEST_SEED;
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });

export default fc;
