import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { completionScript } from '../../../src/cli/completion.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { READING_FORMS } from '../../../src/warp/reading.ts';

const program = createProgram('0.0.0', () => undefined);
const COMMANDS = ['decode', 'verify', 'aggregate', 'subnet', 'completion', 'identity', 'serve', 'health'];

/** What bash offers after these words, the last of which is being written. */
function offered(...words: string[]): string[] {
  const list = words.map((word) => `'${word}'`).join(' ');
  const script = `${completionScript('bash', program)}
compopt() { echo "files"; }
COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}
_warp_signature_aggregator
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout.split('\n').filter((line) => line !== '');
}

describe('bash', () => {
  const name = program.name();

  test('is offered commands, options and values', () => {
    expect(offered(name, '').toSorted()).toEqual(COMMANDS.toSorted());
    expect(offered(name, 'de')).toEqual(['decode']);
    expect(offered(name, 'decode', '--')).toEqual(['--file', '--as', '--json', '--help']);
    expect(offered(name, 'decode', '--as', '')).toEqual([...READING_FORMS]);
    expect(offered(name, 'completion', 'b')).toEqual(['bash']);
  });

  test('is offered files where the value is one, and nothing where it can be anything', () => {
    expect(offered(name, 'verify', '--set', '')).toEqual(['files']);
    expect(offered(name, 'serve', '--config', '')).toEqual(['files']);
    expect(offered(name, 'aggregate', '--url', '')).toEqual([]);
  });
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
  expect(zsh).toContain(
    "'--transaction:sign what the P-Chain says about this transaction of its own; takes no message'",
  );
  const fish = completionScript('fish', program);
  expect(fish).toContain(
    "complete -c warp-signature-aggregator -n '__fish_seen_subcommand_from verify' -l set -r -F -d ",
  );
  expect(fish).toContain("-l height -x -d 'the P-Chain height of the validator set; default: the one proposed now'");
});
