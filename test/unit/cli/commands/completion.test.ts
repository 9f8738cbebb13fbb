import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { completionScript } from '../../../../src/cli/commands/completion.ts';
import { createProgram } from '../../../../src/cli/program.ts';
import { READING_FORMS } from '../../../../src/warp/reading.ts';

const program = createProgram('0.0.0', () => undefined);
const COMMANDS = ['convert', 'decode', 'verify', 'aggregate', 'subnet', 'completion', 'identity', 'serve', 'health'];

/** What bash offers after the words of each line, the last of which is being written. */
function offered(lines: readonly (readonly string[])[]): string[][] {
  const cases = lines.map((words) => {
    const list = [program.name(), ...words].map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${list}); COMP_CWORD=${words.length}; _warp_signature_aggregator; echo "\${COMPREPLY[*]}"`;
  });
  const script = [completionScript('bash', program), 'compopt() { COMPREPLY=(files); }', ...cases].join('\n');
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').filter((word) => word !== ''));
}

test('bash is offered commands, options, values and files', { timeout: 60_000 }, () => {
  const cases: readonly (readonly [words: string[], offered: string[]])[] = [
    [[''], COMMANDS],
    [['de'], ['decode']],
    [
      ['decode', '--'],
      ['--file', '--as', '--json', '--help'],
    ],
    [['decode', '--as', ''], [...READING_FORMS]],
    [['aggregate', '--url', ''], []],
    [['verify', '--set', ''], ['files']],
    [['serve', '--config', ''], ['files']],
    [['completion', 'b'], ['bash']],
  ];
  expect(offered(cases.map(([words]) => words)).map((words) => words.toSorted())).toEqual(
    cases.map(([, expected]) => expected.toSorted()),
  );
});

test.each(['bash', 'zsh', 'fish'] as const)('%s gets every command with each of its options', (shell) => {
  const script = completionScript(shell, program);
  for (const command of program.commands) {
    expect(script).toContain(command.name());
    for (const { long } of command.options) expect(script).toContain(shell === 'fish' ? `-l ${long?.slice(2)}` : long);
  }
  // Every parenthesis and quote of a description is closed in the shell's own way.
  expect(script).not.toMatch(/undefined|\[object/);
});

test('zsh and fish have an option with its description, and what it takes', () => {
  const zsh = completionScript('zsh', program);
  expect(zsh).toContain(
    "'decode --as') compadd -- signedMessage unsignedMessage payload content justification; return ;;",
  );
  expect(zsh).toContain("'verify --set') _files; return ;;");
  expect(zsh).toContain("'--transaction:sign what the P-Chain says about this transaction; takes no message'");
  const fish = completionScript('fish', program);
  expect(fish).toContain(
    "complete -c warp-signature-aggregator -n '__fish_seen_subcommand_from verify' -l set -r -F -d ",
  );
  expect(fish).toContain("-l height -x -d 'the P-Chain height of the validator set; default: the one proposed now'");
});
