import { describe, expect, test } from 'vitest';
import { parseServiceArguments } from '../../../../src/cli/io/service-options.ts';

describe('the arguments of a service', () => {
  test('may be none, with or without its command', () => {
    expect(parseServiceArguments([])).toEqual({});
    expect(parseServiceArguments(['serve'])).toEqual({});
  });

  test('are not parsed', () => {
    const args = ['--config=a.json', '--host', '::1', '--port', 'x', '--validators', '7', '--log-level', 'loud'];
    const settings = { config: 'a.json', host: '::1', port: 'x', validators: '7', logLevel: 'loud' };
    expect(parseServiceArguments(args)).toEqual(settings);
    expect(parseServiceArguments(['serve', ...args])).toEqual(settings);
  });

  test.each([
    [['--chek-config'], "unknown option '--chek-config'\n(Did you mean --check-config?)"],
    [['-p', '1'], "unknown option '-p'"],
    [['--port'], "option '--port <n>' argument missing"],
  ])('%j are rejected', (args, message) => {
    expect(() => parseServiceArguments(args)).toThrow(message);
  });
});
