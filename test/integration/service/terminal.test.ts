import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

const TIMEOUT_MS = 60_000;

// `script` runs a command at a new terminal, which closes when `script` ends. It is part of every Linux; that of macOS takes other options.
test.runIf(process.platform === 'linux')(
  'a service whose terminal is closed ends and gives its port back',
  async () => {
    const command = `${process.execPath} src/start.js --port 0 --validators 5`;
    const terminal = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let url: URL | undefined;
    for await (const line of createInterface({ input: terminal.stdout })) {
      const [, address] = /service +(http:\S+)/.exec(line) ?? [];
      if (address === undefined) continue;
      url = new URL(address);
      break;
    }
    expect(url).toBeDefined();
    const socket = connect(Number(url?.port), url?.hostname);
    socket.write(`GET /health/live HTTP/1.1\r\nhost: ${url?.host}\r\n\r\n`);
    await once(socket, 'data');
    terminal.kill('SIGKILL');
    await once(socket.resume(), 'close');
    expect((await once(connect(Number(url?.port), url?.hostname), 'error'))[0]).toMatchObject({ code: 'ECONNREFUSED' });
  },
  TIMEOUT_MS,
);
