// npm run capacity [-- options]: how many pods and source addresses a load takes, by the formula of docs/capacity.md and by a
// simulation of it; with --measure, the simulation against the real service. --help lists the options. Exit codes: 0 done, and
// enough or reproduced; 1 it is not; 2 the options or the configuration cannot be used, or a measurement must not be counted.
import { runCapacity } from "./capacity/command.ts";
import { runGuarded } from "./embedded/guarded.ts";

runGuarded((guard) => runCapacity(guard, process.argv.slice(2)), { interruptedCode: 130 });
