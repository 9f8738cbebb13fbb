import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { completionScript } from '../../../../src/cli/commands/completion.ts';
import { createProgram } from '../../../../src/cli/program.ts';
import { READING_FORMS } from '../../../../src/warp/reading.ts';

const program = createProgram('0.0.0', () => undefined);
const COMMANDS = ['convert', 'decode', 'verify', 'aggregate', 'subnet', 'completion', 'identity', 'serve', 'health'];

/** Returns the completions of bash for the last word of each line. */
function offered(lines: readonly (readonly string[])[]): string[][] {
  const cases = lines.map((words) => {
    const list = [program.name(), ...words].map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${list}); COMP_CWORD=${words.length}; _warp_signature_aggregator; echo "\${COMPREPLY[*]}"`;
  });
  const script = [completionScript('bash', program), ...cases].join('\n');
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').filter((word) => word !== ''));
}

test('bash completes commands, options, values and files', { timeout: 60_000 }, () => {
  const cases: readonly (readonly [words: string[], offered: string[]])[] = [
    [[''], COMMANDS],
    [['de'], ['decode']],
    [
      ['decode', '--'],
      ['--file', '--as', '--json', '--help'],
    ],
    [['decode', '--as', ''], [...READING_FORMS]],
    [['aggregate', '--url', ''], []],
    [['verify', '--set', 'package.'], ['package.json']],
    [['serve', '--config', 'config/fu'], ['config/fuji.json']],
    [['completion', 'b'], ['bash']],
  ];
  expect(offered(cases.map(([words]) => words)).map((words) => words.toSorted())).toEqual(
    cases.map(([, expected]) => expected.toSorted()),
  );
});

test.each(['bash', 'zsh', 'fish'] as const)('%s has every command with its options', (shell) => {
  const script = completionScript(shell, program);
  for (const command of program.commands) {
    expect(script).toContain(command.name());
    for (const { long } of command.options) expect(script).toContain(shell === 'fish' ? `-l ${long?.slice(2)}` : long);
  }
  expect(script).not.toMatch(/undefined|\[object/);
});

test('fish has descriptions and values of options', () => {
  const fish = completionScript('fish', program);
  expect(fish).toContain(
    "complete -c warp-signature-aggregator -n '__fish_seen_subcommand_from verify' -l set -r -F -d ",
  );
  expect(fish).toMatch(/-l height -x -d '\w/);
});
