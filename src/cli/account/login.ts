import { hostname } from "node:os";
import { Command, Option } from "commander";
import { type Client, createClient, RcptError } from "../../../packages/client/src/index.ts";
import { loadServiceAddress } from "../../config/config.ts";
import { UsageError } from "../../operator/command.ts";
import { EXIT } from "../../platform/exit-codes.ts";
import { printable } from "../printable.ts";
import { serviceUrl } from "../service.ts";
import { type Profile, profilePath, readProfile, removeProfile, writeProfile } from "./profile.ts";

const TIMEOUT_MS = 20_000;
/** Prefix of a session's token. */
const SESSION = "rcpt_sess_";

interface LoginOptions {
  /** `-`: a key comes from standard input; true: it is asked for. */
  key?: string | true;
  email?: string;
  team?: string;
}

const say = (line: string) => void process.stderr.write(`${line}\n`);

/** Prompts go to standard error: standard output has results only. */
const PROMPT = { output: process.stderr };

/** @throws UsageError when no terminal is attached */
function requirePerson(instead: string): void {
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw new UsageError(`this is no terminal: ${instead}`);
}

async function askFor(message: string, given?: string): Promise<string> {
  if (given !== undefined) return given;
  const { default: input } = await import("@inquirer/input");
  return input({ message, required: true }, PROMPT);
}

async function askForSecret(message: string): Promise<string> {
  const { default: password } = await import("@inquirer/password");
  return password({ message, mask: true }, PROMPT);
}

/** @throws UsageError */
async function readKey(source: string | true): Promise<string> {
  if (source === true) {
    requirePerson("rcpt login --key - reads a key from standard input");
    return (await askForSecret("API key")).trim();
  }
  if (source !== "-")
    throw new UsageError(
      "--key takes no key, which others could read here: --key - reads it from standard input",
    );
  const { linesOf } = await import("../check-input.ts");
  for await (const line of linesOf(process.stdin, new AbortController().signal)) return line.trim();
  throw new UsageError("standard input is empty: it should hold a key");
}

const clientOf = (url: string, key?: string): Client => createClient({ url, key, timeoutMs: TIMEOUT_MS });

/**
 * Creates a key for this machine, so that it can be listed and revoked separately. A member who may not create keys gets a
 * session.
 * @throws RcptError
 */
async function signIn(url: string, options: LoginOptions): Promise<Profile> {
  requirePerson("rcpt login --key - reads an API key from standard input");
  const email = await askFor("Email", options.email);
  const password = await askForSecret("Password");
  const body = { email, password, ...(options.team === undefined ? {} : { team_id: options.team }) };
  const { session } = await clientOf(url).request("POST", "/v1/auth/login", { body });
  const token = session.token ?? "";
  const client = clientOf(url, token);
  try {
    const label = `rcpt on ${hostname()}`.slice(0, 100);
    const made = await client.request("POST", "/v1/keys", { body: { label, env: "live" } });
    // Without the logout the session expires later. That must not lose the key.
    await client.request("POST", "/v1/auth/logout").catch(() => {});
    return { url, key: made.secret ?? "", keyId: made.id };
  } catch (error) {
    if (!(error instanceof RcptError) || error.code !== "insufficient_role") {
      await client.request("POST", "/v1/auth/logout").catch(() => {});
      throw error;
    }
    say(`you may make no keys in this team: signed in until ${session.expires_at}`);
    return { url, key: token, keyId: null };
  }
}

/** Warns when a password or a key would be sent in clear text. */
function warnOfPlainHttp(url: string): void {
  const { protocol, hostname: host } = new URL(url);
  const isLocal =
    host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || host.startsWith("127.");
  if (protocol === "http:" && !isLocal)
    say("rcpt: warning: without https your credential can be read on its way");
}

/** Ends what an earlier login has made. @returns why it could not; null: it is done */
async function revoke({ url, key, keyId }: Profile): Promise<RcptError | null> {
  const client = clientOf(url, key);
  try {
    if (keyId !== null) await client.request("DELETE", "/v1/keys/{id}", { path: { id: keyId } });
    else if (key.startsWith(SESSION)) await client.request("POST", "/v1/auth/logout");
    return null;
  } catch (error) {
    if (!(error instanceof RcptError)) throw error;
    // The session or key has ended already.
    return error.code === "unauthorized" || error.code === "not_found" ? null : error;
  }
}

function storedProfile(): Profile | null {
  try {
    return readProfile();
  } catch {
    // An unreadable profile is replaced.
    return null;
  }
}

/** Revokes the credential of the login before, and warns if that fails. */
async function replace(before: Profile): Promise<void> {
  const failure = await revoke(before);
  if (failure === null) return;
  const what = before.keyId === null ? "the session" : `the key ${printable(before.keyId)}`;
  say(`rcpt: warning: ${what} of ${printable(before.url)} is still good: ${printable(failure.detail)}`);
}

/** Tries a profile and writes it. What cannot be kept is revoked. @throws RcptError; Error of the disk */
async function keepProfile(profile: Profile) {
  try {
    const me = await clientOf(profile.url, profile.key).request("GET", "/v1/auth/me");
    writeProfile(profile);
    return me;
  } catch (error) {
    await revoke(profile);
    throw error;
  }
}

/** @throws UsageError; RcptError */
async function login(given: string | undefined, options: LoginOptions): Promise<void> {
  const before = storedProfile();
  const named = given ?? loadServiceAddress().url ?? before?.url;
  if (named === undefined && options.key === "-")
    throw new UsageError("name the service: rcpt login URL --key -");
  if (named === undefined) requirePerson("name the service: rcpt login URL --key -");
  const url = serviceUrl(named ?? (await askFor("URL of the service")), "what you named");
  warnOfPlainHttp(url);
  const profile =
    options.key === undefined
      ? await signIn(url, options)
      : { url, key: await readKey(options.key), keyId: null };
  const me = await keepProfile(profile);
  if (before !== null && before.key !== profile.key) await replace(before);
  const name = me.user === null ? "a key without a user" : me.user.email;
  say(`logged in to ${printable(url)} as ${printable(name)}, ${me.role} of ${printable(me.team.name)}`);
  say(`the key is in ${profilePath()}, which only you can read; rcpt logout ends it`);
  if (loadServiceAddress().key !== null) say("rcpt: warning: RCPT_API_KEY is set, and counts before it");
}

/** @returns the exit code: 1 where the key could not be revoked */
async function logout(): Promise<number> {
  const profile = readProfile();
  if (profile === null) {
    say("not logged in");
    return EXIT.done;
  }
  const failure = await revoke(profile);
  removeProfile();
  if (failure !== null) {
    say(
      `rcpt: logged out, but the key ${profile.keyId ?? ""} is still good: ${printable(failure.detail)} (${failure.code})`,
    );
    say("revoke it in the portal, under keys");
    return EXIT.failed;
  }
  say(profile.keyId === null ? "logged out" : "logged out, and the key of this machine is revoked");
  return EXIT.done;
}

/** `rcpt login`: keeps a service and a key of it for this user of this machine. */
export function loginCommand(): Command {
  return new Command("login")
    .description(
      "Log in to a service: with your password, which makes a key for this machine, or with a key that you have.",
    )
    .argument("[url]", "of the service; default: RCPT_URL, or where you are logged in")
    .addOption(new Option("--key [source]", "ask for an API key instead; - reads it from standard input"))
    .option("--email <address>", "of your account; default: it is asked for")
    .option("--team <id>", "which of your teams; default: the one that you joined first")
    .action(login);
}

/** `rcpt logout`: forgets the key, and revokes it where `rcpt login` has made it. @param end receives the exit code */
export function logoutCommand(end: (code: number) => void): Command {
  return new Command("logout")
    .description("Forget the service, and revoke the key that login has made.")
    .action(async () => end(await logout()));
}
