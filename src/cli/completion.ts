import { Argument, Command, type Option } from "commander";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

interface Word {
  text: string;
  description: string;
}

/** Completions for the arguments of one command. */
interface Completions {
  /** "": the program itself; else as `jobs watch`. */
  command: string;
  words: Word[];
  /** Options that take one of some values. */
  choices: { option: string; values: readonly string[] }[];
}

const firstSentence = (text: string) => text.split(/(?<=\.)\s/)[0] ?? "";
const isShown = (option: Option) => !option.hidden;

/** The completions of each command of the tree. */
function completionsOf(command: Command, path: readonly string[] = []): Completions[] {
  const inner = command.commands.filter((one) => one.name() !== "help");
  const names = inner.map((one) => ({ text: one.name(), description: firstSentence(one.description()) }));
  const options = command.options.filter(isShown).map((option) => ({
    ...{ option, text: option.long ?? option.short ?? "", description: option.description },
  }));
  const own: Completions = {
    command: path.join(" "),
    words: [...names, ...options, { text: "--help", description: "display help for command" }],
    choices: options.flatMap(({ option, text }) =>
      option.argChoices === undefined ? [] : [{ option: text, values: option.argChoices }],
    ),
  };
  const [shells] = command.registeredArguments;
  for (const text of shells?.argChoices ?? []) own.words.push({ text, description: "" });
  return [own, ...inner.flatMap((one) => completionsOf(one, [...path, one.name()]))];
}

/** A text in single quotes, valid in every shell. */
const quoted = (text: string) => `'${text.replaceAll("\\", "").replaceAll("'", "’")}'`;

/** The words of commands in a `case`, with the longest first. */
function commandCases(all: readonly Completions[], body: (one: Completions) => string): string {
  return all.map((one) => `    ${quoted(one.command)}) ${body(one)} ;;`).join("\n");
}

/** Finds the command that is being typed: options are skipped, and what belongs to no command. */
const findCommand = (all: readonly Completions[], words: string) => `
  local at='' word
  for word in ${words}; do
    case "$at\${at:+ }$word" in
      ${all.flatMap(({ command }) => (command === "" ? [] : [quoted(command)])).join("|")}) at="$at\${at:+ }$word" ;;
    esac
  done`;

function choicesCase(all: readonly Completions[], body: (values: readonly string[]) => string): string {
  return all
    .flatMap(({ command, choices }) =>
      choices.map(({ option, values }) => `    ${quoted(`${command} ${option}`)}) ${body(values)} ;;`),
    )
    .join("\n");
}

/** When none of our completions fits, file names are completed. */
function bashScript(all: readonly Completions[]): string {
  return `_rcpt() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words=''${findCommand(all, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
${choicesCase(all, (values) => `COMPREPLY=($(compgen -W ${quoted(values.join(" "))} -- "$cur")); return`)}
  esac
  case "$at" in
${commandCases(all, ({ words }) => `words=${quoted(words.map(({ text }) => text).join(" "))}`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _rcpt rcpt
`;
}

function zshScript(all: readonly Completions[]): string {
  const described = ({ text, description }: Word) =>
    quoted(description === "" ? text : `${text}:${description.replaceAll(":", ";")}`);
  return `#compdef rcpt
_rcpt() {
  local -a found${findCommand(all, `"\${(@)words[2,CURRENT-1]}"`)}
  case "$at \${words[CURRENT-1]}" in
${choicesCase(all, (values) => `compadd -- ${values.join(" ")}; return`)}
  esac
  case "$at" in
${commandCases(all, ({ words }) => `found=(${words.map(described).join(" ")})`)}
  esac
  _describe rcpt found || _files
}
compdef _rcpt rcpt
`;
}

function fishScript(all: readonly Completions[]): string {
  const lines = all.flatMap(({ command, words, choices }) =>
    words.map(({ text, description }) => {
      const condition = `-n ${quoted(`test (__rcpt_command) = "${command}"`)}`;
      const values = choices.find(({ option }) => option === text)?.values;
      const what = text.startsWith("--") ? `-l ${text.slice(2)}` : `-a ${text}`;
      const says = description === "" ? "" : ` -d ${quoted(description)}`;
      return `complete -c rcpt ${condition} ${what}${values === undefined ? "" : ` -x -a ${quoted(values.join(" "))}`}${says}`;
    }),
  );
  const commands = all.flatMap(({ command }) => (command === "" ? [] : [quoted(command)]));
  return `function __rcpt_command
  set -l at ''
  for word in (commandline -opc)[2..]
    set -l next (string trim -- "$at $word")
    contains -- $next ${commands.join(" ")}; and set at $next
  end
  echo $at
end
${lines.join("\n")}
`;
}

const SCRIPTS: Record<Shell, (all: readonly Completions[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

const HELP = `
  bash   echo 'source <(rcpt completion bash)' >> ~/.bashrc
  zsh    echo 'source <(rcpt completion zsh)' >> ~/.zshrc        (behind compinit)
  fish   rcpt completion fish > ~/.config/fish/completions/rcpt.fish`;

/** `rcpt completion SHELL`: the script by which a shell completes the commands and options of `program`. */
export function completionCommand(program: Command, write: (text: string) => void): Command {
  return new Command("completion")
    .description("Print what lets your shell complete rcpt's commands and options.")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .addHelpText("after", HELP)
    .action((shell: Shell) => write(SCRIPTS[shell](completionsOf(program))));
}
