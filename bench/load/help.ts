import { BOUNDS } from "./bounds.ts";

const bounds = Object.values(BOUNDS)
  .map(({ name, max, write }) => `${name} ${write(max)}`)
  .join(", ");

/** Text of `--help`. docs/load-testing.md gives the reasons. */
export const HELP = `npm run load -- --url URL [options]: a load on a deployment of your own

  key        RCPT_KEY or RCPT_KEY_FILE in the environment, or --key-file FILE (- is standard input).
             --key KEY works too, but whoever may list processes can read it
  --i-own-this-deployment   needed where URL is neither this machine nor a private address

how much (open loop unless --closed)
  --rate R                  requests a second that fall due, whatever becomes of those before (200)
  --arrivals KIND           uniform, or poisson as independent callers come (uniform)
  --backlog N               requests that may wait for a connection (10k)
  --closed                  each connection asks again as soon as it is answered
  --connections N           at most (64)
  --ramp 30s                linear from nothing
  --ramp 100,200,400:10s    each level for so long; of rates, or of connections when --closed
  --duration D              (30s, or all levels)      --warm-up D   before it, not measured (0)
  --requests N              at most, warm-up included (100k)
  --timeout D               of a request (30s)        --grace D     for what is under way at the end (10s)
  --heed-retry-after        send nothing while a 429 or 503 asks to wait

what (shares as 0.9 or 90%)
  --repeat SHARE            of addresses that were asked about before (0.9)    --hot N   different ones of them (1k)
  --refresh SHARE, --evidence SHARE   requests with refresh=true, evidence=true (0)
  --emails FILE             your own addresses, CSV or one a line; else reserved names, where nobody is probed
  --bulk-every D            submit a job so often, follow it, read its results, check them
  --bulk-rows N (10k), --bulk-by upload|inline (upload), --bulk-at-once N (2), --bulk-wait D (10m), --bulk-only
  --seed N                  for the same traffic again

what comes of it
  --json FILE, --html FILE  the report, for programs and as one page
  --fail-on BOUNDS          e.g. "p99<50ms,errors<0.1%,rate>=190": exit code 1 where one is broken

Not more than ${bounds},
unless --max-<name> says otherwise.
Exit codes: 0 done, 1 a bound of --fail-on is broken, 2 wrong options, 3 nothing could be measured, 130 interrupted.
`;
