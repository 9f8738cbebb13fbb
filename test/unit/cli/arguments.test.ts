import { describe, expect, test } from 'vitest';
import { parseArguments } from '../../../src/cli/arguments.ts';

describe('arguments', () => {
  test('nothing is to serve, with no settings', () => {
    expect(parseArguments([])).toEqual({ action: 'serve', settings: {} });
  });

  test('settings are taken as they are written', () => {
    const args = ['--config=a.json', '--host', '::1', '--port', 'x', '--validators', '7', '--log-level', 'loud'];
    expect(parseArguments(args)).toEqual({
      action: 'serve',
      settings: { config: 'a.json', host: '::1', port: 'x', validators: '7', logLevel: 'loud' },
    });
  });

  test.each([
    [['--help', '--version', '--check-config'], 'print help'],
    [['-h'], 'print help'],
    [['--version', '--check-config'], 'print version'],
    [['--check-config', '--print-config'], 'check config'],
    [['--print-config'], 'print config'],
    [['identity', '--config', 'a.json'], 'print identity'],
    [['identity', '--help'], 'print help'],
  ])('%j is to %s', (args, action) => {
    expect(parseArguments(args).action).toBe(action);
  });

  test.each([
    [['--check'], 'unknown option --check'],
    [['identity', '--chek-config'], 'unknown option --chek-config; did you mean --check-config?'],
    [['--chek-config'], 'unknown option --chek-config; did you mean --check-config?'],
    [['--loglevel', 'x'], 'unknown option --loglevel; did you mean --log-level?'],
    [['-p', '1'], 'unknown option -p'],
    [['--help=yes'], "Option '-h, --help' does not take an argument"],
  ])('%j is refused', (args, message) => {
    expect(() => parseArguments(args)).toThrow(new RegExp(`^${RegExp.escape(message)}$`));
  });
});
