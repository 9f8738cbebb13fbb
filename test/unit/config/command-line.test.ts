import { spawn } from 'node:child_process';
import { describe, expect, test } from 'vitest';

const START = new URL('../../../src/start.js', import.meta.url).pathname;

/** Runs the service's command to its end. */
async function run(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [START, ...args], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  return { code, out, err };
}

/** Each loads the whole program: about half a second, more on a busy machine. */
describe.concurrent('npm start --', { timeout: 30_000 }, () => {
  test('--help says what there is, and does nothing', async () => {
    const { code, out, err } = await run('--help');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const option of ['--config', '--host', '--port', '--validators', '--log-level', '--help']) {
      expect(out).toContain(option);
    }
  });

  test.each([
    [['--prot', '1'], "Unknown option '--prot'"],
    [['--validators', '4'], '--validators must be an integer from 5 to 2000, is 4'],
    [['--config', '/does/not/exist.json'], 'configuration: cannot read the configuration file /does/not/exist.json'],
  ])('%j is refused with a sentence and exit code 2', async (args, expected) => {
    const { code, out, err } = await run(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(expected);
    expect(err).not.toMatch(/^\s+at /m);
  });
});
