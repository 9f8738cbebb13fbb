import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { runCommand, runOnTerminal } from '../../unit/cli/run-command.ts';
import { type RunningService, startService } from './running-service.ts';

/** Each starts a process; those with --config connect to the validators besides. */
const TIMEOUT_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'commands-'));

let service: RunningService;
beforeAll(async () => {
  service = await startService(8);
}, TIMEOUT_MS);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const emit = (chain: 'C' | 'L1' = 'C'): string =>
  bytesToHex(service.devnet.chains[chain].emit(Buffer.from(`command ${Math.random()}`)).bytes);
const url = () => ['--url', service.app.url];

/** The API of the same network, for a command that does without a service. */
function ownConfig(): string[] {
  const path = join(folder, 'own.json');
  writeFileSync(path, JSON.stringify({ networks: { mine: { pChainApi: [{ baseUrl: service.devnet.apiUrl }] } } }));
  return ['--config', path];
}

/** A server that gives one answer to every request; its `asked` are the requests. */
async function withServer<T>(
  answer: (path: string, response: ServerResponse) => void,
  work: (address: string, asked: string[]) => Promise<T>,
): Promise<T> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${String(request.headers['x-service-api-key'] ?? '')}`);
    answer(request.url ?? '', response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked);
  } finally {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
}

describe.concurrent('aggregate', { timeout: TIMEOUT_MS }, () => {
  test('prints only the signed message to a pipe, which verify accepts', async () => {
    const { code, out, err } = await runCommand(['aggregate', ...url(), emit()]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^[0-9a-f]{200,}\n$/);
    const verdict = await runCommand(['verify', '--p-chain', service.devnet.apiUrl, '--json'], { input: out });
    expect(verdict).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(verdict.out)).toMatchObject({ isValid: true, networkId: 1337, quorumPercentage: 67 });
  });

  test('shows on a terminal how the weight fills up, and by whom it was signed', async () => {
    const { code, out } = await runOnTerminal(['aggregate', ...url(), '--quorum', '80', emit()]);
    expect(code).toBe(0);
    expect(out).toContain(`asking ${service.app.url}`);
    const shown = stripVTControlCharacters(out);
    expect(shown).toMatch(/█{32,}░* \d{2,3}\.\d % of 80 % · \d signed/u);
    expect(shown).toMatch(/\rsigned by \d validators with \d{2,3}\.\d % of the weight of subnet/);
    expect(out).toContain('\u001b[32msigned\u001b[39m by ');
  });

  test('needs no service with a configuration', async () => {
    const { code, out } = await runOnTerminal(['aggregate', ...ownConfig(), emit()], { NO_COLOR: '1' });
    expect(code).toBe(0);
    const shown = stripVTControlCharacters(out);
    expect(shown).toMatch(/█{20,}░* \d{2,3}\.\d % of 67 % · \d signed/u);
    expect(shown).toMatch(/\rsigned by \d validators with .*\r\n[0-9a-f]{200,}\r\n$/);
  });

  test('takes the settings of the request, and a transaction in its place', async () => {
    const { subnetID } = service.devnet.subnets.l1;
    const settings = ['--quorum', '60', '--buffer', '10', '--subnet', subnetID, '--json'];
    const ofL1 = await runCommand(['aggregate', ...url(), ...settings, emit()]);
    expect(ofL1).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ofL1.out)).toMatchObject({ signingSubnetId: subnetID, totalWeight: '910' });
    const example = service.devnet.examples('fuji').find(({ name }) => name === 'by transaction: ConvertSubnetToL1Tx');
    const transaction = example?.path.split('/').at(-1) ?? '';
    const ofTransaction = await runCommand(['aggregate', ...url(), '--transaction', transaction, '--json']);
    expect(ofTransaction).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ofTransaction.out)).toMatchObject({ signingSubnetId: subnetID });
  });

  test('signs the message of an EVM transaction, and one of several by its log', async () => {
    const [first, second] = ['one', 'two'].map((text) => Buffer.from(text));
    const { hash, messages } = service.devnet.chains.C.transact([first!, second!]);
    const several = await runCommand(['aggregate', ...url(), '--tx', hash, '--chain', 'C', '--json']);
    expect(several).toMatchObject({ code: 2, err: expect.stringContaining('choose one by logIndex 0, 1') });
    expect(JSON.parse(several.out)).toMatchObject({ details: { messages: [{ logIndex: 0 }, { logIndex: 1 }] } });
    const signed = await runCommand(['aggregate', ...ownConfig(), '--tx', hash, '--chain', 'C', '--log-index', '1']);
    expect(signed).toMatchObject({ code: 0, out: expect.stringContaining(bytesToHex(messages[1]!.bytes)) });
  });

  test('a failure has its exit code and names the validators that did not sign', async () => {
    const refused = await runCommand(['aggregate', ...url(), '--quorum', '100', emit('L1')]);
    expect(refused).toMatchObject({ code: 3, out: '' });
    // A validator that is not dialled yet is unreachable.
    expect(refused.err).toMatch(
      /\nSigned: 0\.0 % of the weight; needed: 100\.0 %\. Validators that did not sign:\n {2}38\.4 % {2}(?:not asked|unreachable) {2}NodeID-/,
    );
    const json = await runCommand(['aggregate', ...url(), '--json', '0000']);
    expect(json).toMatchObject({ code: 2, err: expect.stringContaining('Correct the request (invalid_request)\n') });
    expect(JSON.parse(json.out)).toMatchObject({ statusCode: 400, code: 'invalid_request' });
    const unsent = bytesToHex(service.devnet.chains.C.emit(Buffer.from('unsent')).bytes).replace(/..$/, '00');
    const nobody = await runCommand(['aggregate', ...url(), unsent]);
    expect(nobody).toMatchObject({ code: 3, out: '', err: expect.stringContaining('(insufficient_weight)') });
    expect(nobody.err).toMatch(/\n +\d+\.\d % {2}refused +NodeID-\w+ {2}1 the payload type AddressedCall is unknown/);
    const [other = ''] = Object.values(service.devnet.transactions);
    const none = await runCommand(['aggregate', ...url(), '--transaction', other]);
    expect(none).toMatchObject({ code: 1, out: '', err: expect.stringContaining('(no_message_in_transaction)') });
  });

  test.each([
    [['--chain', 'C'], '--chain and --log-index are about a transaction: give its hash by --tx'],
    [['--url', 'http://me:secret@x', '00'], '--url must not hold a user or a password, as they would not be sent\n'],
    [['--api-key', 'secret\r', '00'], '--api-key, or WARP_API_KEY, has a character that no header may have'],
    [['--url', 'http://x', '--config', 'y', '00'], "option '--url <url>' cannot be used with option '--config <file>'"],
  ])('%j is refused with exit code 2', async (args, expected) => {
    const { code, out, err } = await runCommand(['aggregate', ...args]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(expected);
    expect(err).not.toContain('secret');
  });
});

describe('what answers in place of a service', { timeout: TIMEOUT_MS }, () => {
  const SIGNED = {
    ...{ signedMessage: 'ab', pChainHeight: 7, signingSubnetId: 'x', signedWeight: '7', totalWeight: '9' },
    signers: ['NodeID-x'],
  };
  const json = (response: ServerResponse, body: object, status = 200): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

  test('may be older, and stream nothing', async () => {
    await withServer(
      (path, response) =>
        path === '/health/ready' ? json(response, { networks: [{ name: 'fuji' }] }, 503) : json(response, SIGNED, 201),
      async (address, asked) => {
        const env = { WARP_API_KEY: 'k', WARP_API_URL: `${address}/` };
        const ended = await runCommand(['aggregate', '00'], { env });
        expect(ended).toEqual({ code: 0, out: 'ab\n', err: '' });
        expect(await runCommand(['aggregate', '--config', '/none', '00'], { env })).toMatchObject({ code: 2 });
        expect(asked).toEqual(['GET /health/ready k', 'POST /v1/signatureAggregator/fuji/aggregateSignatures k']);
      },
    );
  });

  test.each([
    ['another API', (response: ServerResponse) => json(response, { ok: true }), 2, 'is no signature aggregator'],
    ['a proxy', (response: ServerResponse) => response.writeHead(502).end(), 3, 'HTTP 502'],
    [
      'a stream that breaks off',
      (response: ServerResponse) =>
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: verifying\ndata: {}\n\n'),
      3,
      'broke off',
    ],
    [
      'a newer service',
      (response: ServerResponse) =>
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(
            `event: novel\ndata: {}\n\nevent: asked\ndata: {"validators":"all"}\n\nevent: result\ndata: ${JSON.stringify(SIGNED)}\n\n`,
          ),
      0,
      '',
    ],
    [
      'an error with a terminal in it',
      (response: ServerResponse) => json(response, { code: 'overloaded', message: 'a\u001b[2Jb\nc' }, 503),
      3,
      'ab c\nAsk again',
    ],
    ['nothing', () => undefined, 3, 'gave no answer within 1 s'],
  ] as const)('%s is seen', async (_name, answer, code, expected) => {
    await withServer(
      (_path, response) => void answer(response),
      async (address) => {
        const ended = await runCommand(['aggregate', '--url', address, '--network', 'a', '--timeout', '1', '00']);
        expect(ended).toMatchObject({ code, err: expect.stringContaining(expected) });
      },
    );
  });
});

describe.concurrent('subnet', { timeout: TIMEOUT_MS }, () => {
  test('prints a table of the validators', async () => {
    const { subnetID } = service.devnet.subnets.l1;
    const { code, out, err } = await runCommand(['subnet', ...url(), subnetID]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(new RegExp(`^subnet ${subnetID} at P-Chain height \\d+\n\\d+ validators; \\d\\d\\.\\d % of`));
    expect(out).toMatch(
      /\nSTATUS +WEIGHT {2}NODE +VERSION +MEDIAN {2}WHY\nsignable +\d\d\.\d % {2}NodeID-\w+ +avalanchego\/1/,
    );
  });

  test('its JSON is a set for verify, from a service or without one', async () => {
    const message = emit();
    const signed = await runCommand(['aggregate', ...url(), message]);
    for (const source of [url(), ownConfig()]) {
      const view = await runCommand(['subnet', ...source, '--json']);
      expect(view).toMatchObject({ code: 0, err: '' });
      expect(JSON.parse(view.out)).toMatchObject({ subnetId: '11111111111111111111111111111111LpoYY' });
      const path = join(folder, `view${source.length}${source[0]}.json`);
      writeFileSync(path, view.out);
      expect(await runCommand(['verify', '--set', path], { input: signed.out })).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^valid\n[^]*\n {2}signing subnet ID +1111/),
      });
    }
  });

  test('says what is wrong', async () => {
    const wrong = await runCommand(['subnet', ...url(), 'nonsense']);
    expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringContaining('the subnet: must be a 32-byte ID') });
    const unknown = await runCommand(['subnet', ...url(), '--json', `0x${'07'.repeat(32)}`]);
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('(unknown_subnet)') });
    expect(JSON.parse(unknown.out)).toMatchObject({ statusCode: 404, code: 'unknown_subnet' });
  });
});
