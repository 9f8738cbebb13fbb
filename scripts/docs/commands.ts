import { createProgram } from '../../src/cli/program.ts';

const WIDTH = 110;

/** The help of each command, as `--help` prints it. */
export function commandHelp(): string {
  const { commands } = createProgram('', () => undefined);
  return commands
    .map((command) => {
      let text = '';
      command.configureOutput({
        writeOut: (part) => (text += part),
        getOutHelpWidth: () => WIDTH,
        getOutHasColors: () => false,
      });
      command.outputHelp();
      return `## ${command.name()}\n\n\`\`\`text\n${text.trim()}\n\`\`\``;
    })
    .join('\n\n');
}
