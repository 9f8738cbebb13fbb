import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { argumentsFor, checkHealth, liveUrl } from '../../../src/cli/health.ts';

test.each([
  [['--port', '81'], 'http://127.0.0.1:81/health/live'],
  [['--host', '0.0.0.0'], 'http://127.0.0.1:8080/health/live'],
  [['--host', '::'], 'http://[::1]:8080/health/live'],
  [['--host', 'fd00::1', '--port', '1'], 'http://[fd00::1]:1/health/live'],
  [['--host', '10.0.0.1'], 'http://10.0.0.1:8080/health/live'],
])('%j: asks %s', (args, expected) => {
  expect(liveUrl(args)).toBe(expected);
});

test('a port that the system chooses is known to nobody', () => {
  expect(() => liveUrl(['--port', '0'])).toThrow('server.port is 0');
});

test('the options are those given, or those of a process that is the service', () => {
  const read = (line: string) => () => line.split(' ');
  const of = (line: string) => argumentsFor(['--of-process', '1', '--port', '9'], read(line));
  expect(argumentsFor(['--port', '9'], read('node src/start.js'))).toEqual(['--port', '9']);
  expect(of('node src/start.js --config /config/a.json')).toEqual(['--config', '/config/a.json']);
  expect(of('/sbin/docker-init -- node src/start.js --port 7')).toEqual(['--port', '7']);
  expect(of('node /usr/local/bin/warp-signature-aggregator serve --port 7')).toEqual(['serve', '--port', '7']);
  expect(of('/pause')).toEqual(['--port', '9']);
});

test('is 0 where the service answers, else 1', async () => {
  let status = 200;
  const server = createServer((_request, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const args = ['--port', `${(server.address() as AddressInfo).port}`];
  expect(await checkHealth(args)).toBe(0);
  status = 500;
  expect(await checkHealth(args)).toBe(1);
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  expect(await checkHealth(args)).toBe(1);
  expect(await checkHealth(['--port', 'x'])).toBe(1);
});
