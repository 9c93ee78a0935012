// npm run capacity [-- options]: how many pods and source addresses a load needs, by the formula of docs/capacity.md
// and by a simulation of it; with --measure, compares the simulation with the real service. --help lists the options.
// Exit codes: 0 done, and the capacity suffices or the prediction is reproduced; 1 it does not or is not; 2 the options
// or the configuration are unusable, or a measurement must not be counted.
import { runCapacity } from "./capacity/command.ts";
import { runGuarded } from "./embedded/guarded.ts";

runGuarded((guard) => runCapacity(guard, process.argv.slice(2)), { interruptedCode: 130 });
