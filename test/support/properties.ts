// biome-ignore lint/style/noRestrictedImports: this is the one place.
import fc from "fast-check";

/**
 * fast-check with the seed of the run: RCPT_TEST_SEED, which `npm test` sets and prints. With a fixed seed CI fails for
 * a change of the code, not for the values that a run drew. Without `npm test` each run draws new values.
 */
const seed = process.env.RCPT_TEST_SEED;
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });

export default fc;
