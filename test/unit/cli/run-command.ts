import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { vi } from 'vitest';
import { run } from '../../../src/cli/run.ts';
import { NODE_FLAG } from '../../support/node-flag.ts';

export const START = join(import.meta.dirname, '../../../src/start.js');

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the command line to its end, by default with an empty environment. */
export function runCommand(
  args: readonly string[],
  {
    input,
    env = {},
    entry = START,
    cwd,
    stdout = 'pipe',
  }: { input?: string; env?: Record<string, string>; entry?: string; cwd?: string; stdout?: 'pipe' | number } = {},
): Promise<Ended> {
  return collect(
    spawn(process.execPath, [NODE_FLAG, entry, ...args], {
      env,
      stdio: ['pipe', stdout, 'pipe'],
      ...(cwd !== undefined && { cwd }),
    }),
    input,
  );
}

/** Runs the command line in this process, which takes a tenth of the time. It reads no standard input, and must not start the service. */
export async function runHere(...args: readonly string[]): Promise<Ended> {
  const ended = { code: 0, out: '', err: '' };
  vi.stubEnv('NO_COLOR', '1').stubEnv('FORCE_COLOR', undefined);
  for (const name of ['out', 'err'] as const) {
    const stream = process[`std${name}`];
    vi.spyOn(stream, 'on').mockReturnThis();
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      ended[name] += String(text);
      return true;
    });
  }
  try {
    ended.code = await run(args, '0.0.0');
    return ended;
  } finally {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  }
}

/** Runs the command line on a terminal, which mixes both outputs. */
export function runOnTerminal(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const line = [process.execPath, NODE_FLAG, START, ...args].map((word) => `'${word}'`).join(' ');
  // From util-linux; its recording is discarded.
  return collect(
    spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
      env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    }),
    undefined,
  );
}

/** Returns the exit code if the reader of that output leaves before the first byte. */
export async function exitCodeWithoutReader(
  args: readonly string[],
  output: 'stdout' | 'stderr',
): Promise<number | null> {
  const child = spawn(process.execPath, [NODE_FLAG, START, ...args], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
  child[output].destroy();
  return (await collect(child, undefined)).code;
}

export async function collect(child: ReturnType<typeof spawn>, input: string | undefined): Promise<Ended> {
  let [out, err] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  // A command may exit before it has read all.
  child.stdin?.on('error', () => undefined).end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  return { code, out, err };
}
