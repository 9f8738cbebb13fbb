import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { argumentsFor, checkHealth, liveUrl } from '../../../../src/cli/commands/health.ts';

test.each([
  [['--port', '81'], 'http://127.0.0.1:81/health/live'],
  [['serve', '--port=81', '--log-level', 'warn', '--validators', '7'], 'http://127.0.0.1:81/health/live'],
  [['--host', '0.0.0.0'], 'http://127.0.0.1:8080/health/live'],
  [['--host', '::'], 'http://[::1]:8080/health/live'],
  [['--host', 'fd00::1', '--port', '1'], 'http://[fd00::1]:1/health/live'],
  [['--host', '10.0.0.1'], 'http://10.0.0.1:8080/health/live'],
])('%j: the URL is %s', (args, expected) => {
  expect(liveUrl(args)).toBe(expected);
});

test('a service without its own API, with a port for metrics, or in place of the Go binary, is probed on another port', () => {
  const folder = mkdtempSync(join(tmpdir(), 'health-'));
  const write = (content: object) => {
    const path = join(folder, 'config.json');
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  const api = { baseUrl: 'http://127.0.0.1:1' };
  const own = write({
    networks: { local: { pChainApi: [api], goApi: { metricsPort: 7 } } },
    server: { ownApi: false },
  });
  expect(liveUrl(['--config', own])).toBe('http://127.0.0.1:7/metrics');
  const goApi = { 'base-url': api.baseUrl };
  const go = write({ 'p-chain-api': goApi, 'info-api': goApi, 'api-port': 9_090 });
  expect(liveUrl(['signature-aggregator', '--config-file', go])).toBe('http://127.0.0.1:9090/metrics');
  expect(liveUrl(['--config-file', go])).toBe('http://127.0.0.1:9090/metrics');
  expect(liveUrl([`--config-file=${go}`])).toBe('http://127.0.0.1:9090/metrics');
  expect(() => liveUrl(['signature-aggregator'])).toThrow('there is no config file');
  rmSync(folder, { recursive: true });
});

test.each([
  [['--port', '0'], 'server.port is 0'],
  [['--prot', '1'], "unknown option '--prot'"],
])('%j: the URL is unknown', (args, reason) => {
  expect(() => liveUrl(args)).toThrow(reason);
});

test('options come from the arguments or from the process of the service', () => {
  const read = (line: string) => () => line.split(' ');
  const of = (line: string) => argumentsFor(['--of-process', '1', '--port', '9'], read(line));
  expect(argumentsFor(['--port', '9'], read('node src/start.js'))).toEqual(['--port', '9']);
  expect(of('node src/start.js --config /config/a.json')).toEqual(['--config', '/config/a.json']);
  expect(of('node --max-semi-space-size=4 src/start.js --port 7')).toEqual(['--port', '7']);
  expect(of('/sbin/docker-init -- node src/start.js --port 7')).toEqual(['--port', '7']);
  expect(of('node /usr/local/bin/warp-signature-aggregator serve --port 7')).toEqual(['serve', '--port', '7']);
  expect(of('/pause')).toEqual(['--port', '9']);
});

test('the result is 0 if the service answers, 1 if it does with a failure, 2 for wrong arguments, 3 without an answer', async () => {
  let status = 200;
  const server = createServer((_request, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const args = ['--port', `${(server.address() as AddressInfo).port}`];
  expect(await checkHealth(args)).toBe(0);
  const url = `http://127.0.0.1:${args[1]}/`;
  expect(await checkHealth([], { url })).toBe(0);
  status = 500;
  expect(await checkHealth(args)).toBe(1);
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  expect(await checkHealth(args)).toBe(3);
  expect(await checkHealth([], { url })).toBe(3);
  expect(await checkHealth([], { url: 'localhost' })).toBe(2);
  expect(await checkHealth(['--port', 'x'])).toBe(2);
});
