import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The completions of an option's value: words, or files; undefined if there are none. */
type Values = readonly string[] | 'files' | undefined;

/** Returns a script that completes the commands and their options without starting the program. */
export function completionScript(shell: Shell, program: Command): string {
  const completions = describeProgram(program);
  switch (shell) {
    case 'bash':
      return bashScript(completions);
    case 'zsh':
      return zshScript(completions);
    case 'fish':
      return fishScript(completions);
  }
}

type Completions = ReturnType<typeof describeProgram>;

function describeProgram(program: Command) {
  const help = { flag: '--help', description: 'print help', takes: 'nothing' as Values | 'nothing' };
  const commands = program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    options: [...command.options.map(describeOption), help],
  }));
  return { name: program.name(), commands };
}

function describeOption({ long, description, argChoices, flags }: Option) {
  const takes: Values | 'nothing' = flags.includes('<')
    ? (argChoices ?? (flags.includes('<file>') ? 'files' : undefined))
    : 'nothing';
  return { flag: long ?? '', description, takes };
}

function bashScript({ name, commands }: Completions): string {
  const offer = (words: readonly string[]): string => `COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$current"))`;
  const values = commands.flatMap((command) =>
    command.options.flatMap(({ flag, takes }) => {
      if (takes === 'nothing') return [];
      const line =
        takes === 'files' ? 'COMPREPLY=($(compgen -f -- "$current"))' : takes === undefined ? ':' : offer(takes);
      return [`    '${command.name} ${flag}') ${line}; return ;;`];
    }),
  );
  const options = commands.map(
    (command) => `    ${command.name}) ${offer([...command.values, ...command.options.map(({ flag }) => flag)])} ;;`,
  );
  const functionName = `_${name.replaceAll('-', '_')}`;
  return `${functionName}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}"
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    ${offer(commands.map((command) => command.name))}
    return
  fi
  case "$command $previous" in
${values.join('\n')}
  esac
  case "$command" in
${options.join('\n')}
  esac
}
complete -o filenames -F ${functionName} ${name}
`;
}

/** zsh runs completions of bash. */
function zshScript(completions: Completions): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(completions)}`;
}

function fishScript({ name, commands }: Completions): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap((command) => {
    const condition = quote(`__fish_seen_subcommand_from ${command.name}`);
    const values =
      command.values.length === 0 ? [] : [`complete -c ${name} -n ${condition} -a ${quote(command.values.join(' '))}`];
    const options = command.options.map(({ flag, description, takes }) => {
      const value =
        takes === 'nothing'
          ? ''
          : takes === 'files'
            ? ' -r -F'
            : takes === undefined
              ? ' -x'
              : ` -x -a ${quote(takes.join(' '))}`;
      return `complete -c ${name} -n ${condition} -l ${flag.slice(2)}${value} -d ${quote(description)}`;
    });
    return [
      `complete -c ${name} -n __fish_use_subcommand -a ${command.name} -d ${quote(command.description)}`,
      ...values,
      ...options,
    ];
  });
  return `# fish completion of ${name}\ncomplete -c ${name} -f\n${lines.join('\n')}\n`;
}
