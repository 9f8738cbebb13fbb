import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeLogData } from '../../../src/pchain/codec/send-warp-log.ts';
import { NODE_FLAG } from '../../support/node-flag.ts';
import { runCommand, runOnTerminal, START } from '../../unit/cli/run-command.ts';
import { type Behaviour, reply, SILENCE, startStandIn } from '../proxy/stand-in.ts';
import { shareService } from './shared-service.ts';

/** Each starts a process; those with --config connect to the validators besides. */
const TIMEOUT_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'commands-'));
afterAll(() => rmSync(folder, { recursive: true }));

const service = await shareService(8);
const URL_OPTION = ['--url', service.app.url];
/** The API of the same network, for a command that does without a service. */
const OWN_CONFIG = ['--config', join(folder, 'own.json')];
writeFileSync(
  join(folder, 'own.json'),
  JSON.stringify({ networks: { mine: { pChainApi: [{ baseUrl: service.devnet.apiUrl }] } } }),
);

const emit = (chain: 'C' | 'L1' = 'C'): string =>
  bytesToHex(service.devnet.chains[chain].emit(Buffer.from(`command ${Math.random()}`)).bytes);

describe.concurrent('aggregate', { timeout: TIMEOUT_MS }, () => {
  test('prints only the signed message to a pipe, which verify accepts', async () => {
    const { code, out, err } = await runCommand(['aggregate', ...URL_OPTION, emit()]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^[0-9a-f]{200,}\n$/);
    const verdict = await runCommand(['verify', '--p-chain', service.devnet.apiUrl, '--json'], { input: out });
    expect(verdict).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(verdict.out)).toMatchObject({ isValid: true, networkId: 1337, quorumPercentage: 67 });
  });

  test.each([
    ['a service', URL_OPTION],
    ['a configuration', OWN_CONFIG],
  ])('prints the access list of its delivery, with %s', async (_, source) => {
    const message = emit();
    const { out } = await runCommand(['aggregate', ...source, '--format', 'access-list', message]);
    const [{ address, storageKeys }] = JSON.parse(out) as [{ address: string; storageKeys: string[] }];
    expect(address).toBe('0x0200000000000000000000000000000000000005');
    expect(storageKeys.map((key) => key.slice(2)).join('')).toMatch(new RegExp(`^${message}[0-9a-f]+ff(00)*$`));
    const both = await runCommand(['aggregate', ...source, '--format', 'access-list', '--json', message]);
    expect(both).toMatchObject({ code: 2, out: '', err: expect.stringContaining('cannot be used with option') });
  });

  test('shows on a terminal how the weight fills up, and by whom it was signed', async () => {
    const { code, out } = await runOnTerminal(['aggregate', ...URL_OPTION, '--quorum', '80', emit()]);
    expect(code).toBe(0);
    expect(out).toContain(`asking ${service.app.url}`);
    const shown = stripVTControlCharacters(out);
    expect(shown).toMatch(/█{32,}░* \d{2,3}\.\d % of 80 % · \d signed/u);
    expect(shown).toMatch(/\rsigned by \d validators with \d{2,3}\.\d % of the weight of subnet/);
    expect(out).toContain('\u001b[32msigned\u001b[39m by ');
  });

  test('needs no service with a configuration', async () => {
    const { code, out } = await runOnTerminal(['aggregate', ...OWN_CONFIG, emit()], { NO_COLOR: '1' });
    expect(code).toBe(0);
    const shown = stripVTControlCharacters(out);
    expect(shown).toMatch(/█{20,}░* \d{2,3}\.\d % of 67 % · \d signed/u);
    expect(shown).toMatch(/\rsigned by \d validators with .*\r\n[0-9a-f]{200,}\r\n$/);
  });

  test('takes the settings of the request, and a transaction in its place', async () => {
    const { subnetID } = service.devnet.subnets.l1;
    const settings = ['--quorum', '60', '--buffer', '10', '--subnet', subnetID, '--json'];
    const ofL1 = await runCommand(['aggregate', ...URL_OPTION, ...settings, emit()]);
    expect(ofL1).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ofL1.out)).toMatchObject({ signingSubnetId: subnetID, totalWeight: '910' });
    const example = service.devnet.examples('fuji').find(({ name }) => name === 'by transaction: ConvertSubnetToL1Tx');
    const transaction = example?.path.split('/').at(-1) ?? '';
    const ofTransaction = await runCommand(['aggregate', ...URL_OPTION, '--transaction', transaction, '--json']);
    expect(ofTransaction).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ofTransaction.out)).toMatchObject({ signingSubnetId: subnetID });
  });

  test('signs the message in the data of a SendWarpMessage log', async () => {
    const message = emit();
    const signed = await runCommand(['aggregate', ...URL_OPTION, encodeLogData(message)]);
    expect(signed).toMatchObject({ code: 0, out: expect.stringMatching(new RegExp(`^${message}`)) });
    const cut = await runCommand(['aggregate', ...URL_OPTION, encodeLogData(message).slice(0, -2)]);
    expect(cut).toMatchObject({ code: 2, out: '', err: expect.stringContaining('is cut off, or has more after it') });
  });

  test('by a transaction, too, the settings choose the signers', async () => {
    const { hash } = service.devnet.chains.C.transact([Buffer.from('for an L1')]);
    const { subnetID } = service.devnet.subnets.l1;
    const settings = ['--subnet', subnetID, '--quorum', '60', '--buffer', '10', '--json'];
    for (const source of [URL_OPTION, OWN_CONFIG]) {
      const { code, out } = await runCommand(['aggregate', ...source, '--tx', hash, '--chain', 'C', ...settings]);
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({ signingSubnetId: subnetID, totalWeight: '910' });
    }
    const both = await runCommand(['aggregate', ...URL_OPTION, '--tx', hash, '--justification', '00']);
    expect(both).toMatchObject({ code: 2, err: expect.stringContaining('--tx has its message') });
  });

  test('signs the message of an EVM transaction, and one of several by its log', async () => {
    const [first, second] = ['one', 'two'].map((text) => Buffer.from(text));
    const { hash, messages } = service.devnet.chains.C.transact([first!, second!]);
    const several = await runCommand(['aggregate', ...URL_OPTION, '--tx', hash, '--chain', 'C', '--json']);
    expect(several).toMatchObject({ code: 2, err: expect.stringContaining('choose one by --log-index 0, 1') });
    expect(several.err).toMatch(
      /\nMessages of the transaction:\n {2}--log-index 0 +\d+ bytes {2}\w+\n {2}--log-index 1 +\d+ bytes {2}\w+\n/,
    );
    expect(JSON.parse(several.out)).toMatchObject({ details: { messages: [{ logIndex: 0 }, { logIndex: 1 }] } });
    const signed = await runCommand(['aggregate', ...OWN_CONFIG, '--tx', hash, '--chain', 'C', '--log-index', '1']);
    expect(signed).toMatchObject({ code: 0, out: expect.stringContaining(bytesToHex(messages[1]!.bytes)) });
  });

  test('a failure has its exit code and names the validators that did not sign', async () => {
    const refused = await runCommand(['aggregate', ...URL_OPTION, '--quorum', '100', emit('L1')]);
    expect(refused).toMatchObject({ code: 1, out: '', err: expect.stringContaining('(quorum_unreachable)') });
    // A validator that is not dialled yet is unreachable.
    expect(refused.err).toMatch(
      /\nSigned: 0\.0 % of the weight; needed: 100\.0 %\. Validators that did not sign:\n {2}38\.4 % {2}(?:not asked|unreachable) {2}NodeID-/,
    );
    const json = await runCommand(['aggregate', ...URL_OPTION, '--json', '0000']);
    expect(json).toMatchObject({ code: 2, err: expect.stringContaining('Correct the request (invalid_request)\n') });
    expect(JSON.parse(json.out)).toMatchObject({ statusCode: 400, code: 'invalid_request' });
    const unsent = bytesToHex(service.devnet.chains.C.emit(Buffer.from('unsent')).bytes).replace(/..$/, '00');
    const nobody = await runCommand(['aggregate', ...URL_OPTION, unsent]);
    expect(nobody).toMatchObject({ code: 3, out: '', err: expect.stringContaining('(insufficient_weight)') });
    expect(nobody.err).toMatch(/\n +\d+\.\d % {2}refused +NodeID-\w+ {2}3 unknown message /);
    expect(nobody.err).toMatch(/\nRetry-After: 1 s\nrequest ID: [\w-]{36}\n$/);
    const [other = ''] = Object.values(service.devnet.transactions);
    const none = await runCommand(['aggregate', ...URL_OPTION, '--transaction', other]);
    expect(none).toMatchObject({ code: 1, out: '', err: expect.stringContaining('(no_message_in_transaction)') });
    const own = await runCommand(['aggregate', ...OWN_CONFIG, '--transaction', other, '--json']);
    // The option in place of the field of the API, but not in JSON.
    expect(own).toMatchObject({ code: 1, err: expect.stringMatching(/^--tx: /) });
    expect(none.err).toMatch(`${own.err}request ID: `);
    expect(JSON.parse(own.out)).toMatchObject({
      code: 'no_message_in_transaction',
      message: expect.stringMatching(/^txHash: /),
    });
  });

  test.each([
    [['--chain', 'C'], '--chain and --log-index are about a transaction: give its hash by --tx'],
    [['--url', 'ftp://me:secret@x', '00'], 'such as http://127.0.0.1:8080, is ftp://***@x\n'],
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
    signedMessage: 'ab',
    pChainHeight: 7,
    signingSubnetId: 'x',
    signedWeight: '7',
    totalWeight: '9',
    signers: ['NodeID-x'],
  };
  const streamed = (events: string) => reply(200, events, { 'content-type': 'text/event-stream' });

  test('may be older, and stream nothing', async () => {
    await using standIn = await startStandIn();
    standIn.behaviour = (...exchange) =>
      (exchange[2].method === 'GET' ? reply(503, { networks: [{ name: 'fuji' }] }) : reply(201, SIGNED))(...exchange);
    const env = { WARP_API_KEY: 'k', WARP_API_URL: `${standIn.baseUrl}/` };
    expect(await runCommand(['aggregate', '00'], { env })).toEqual({ code: 0, out: 'ab\n', err: '' });
    expect(await runCommand(['aggregate', '--config', '/none', '00'], { env })).toMatchObject({ code: 2 });
    const asked = standIn.arrivals.map(({ method, target, headers }) => [method, target, headers['x-service-api-key']]);
    expect(asked).toEqual([
      ['GET', '/health/ready', 'k'],
      ['POST', '/v1/signatureAggregator/fuji/aggregateSignatures', 'k'],
    ]);
  });

  test.each<[string, Behaviour, number, string]>([
    ['another API', reply(200, { ok: true }), 2, 'is no signature aggregator'],
    ['a proxy', reply(502, ''), 3, 'HTTP 502'],
    ['a stream that breaks off', streamed('event: verifying\ndata: {}\n\n'), 3, 'broke off'],
    [
      'a newer service',
      streamed(
        `event: novel\ndata: {}\n\nevent: asked\ndata: {"validators":"all"}\n\nevent: result\ndata: ${JSON.stringify(SIGNED)}\n\n`,
      ),
      0,
      '',
    ],
    [
      'an error with a terminal in it',
      reply(503, { code: 'overloaded', message: 'a\u001b[2Jb\nc' }),
      3,
      'ab c\nAsk again',
    ],
    ['nothing', SILENCE, 3, 'gave no answer within 1 s'],
  ])('%s is seen', async (_name, behaviour, code, expected) => {
    await using standIn = await startStandIn();
    standIn.behaviour = behaviour;
    // Only silence may use up the time.
    const timeout = behaviour === SILENCE ? '1' : '100';
    const ended = await runCommand([
      'aggregate',
      '--url',
      standIn.baseUrl,
      '--network',
      'a',
      '--timeout',
      timeout,
      '00',
    ]);
    expect(ended).toMatchObject({ code, err: expect.stringContaining(expected) });
  });
});

describe.concurrent('subnet', { timeout: TIMEOUT_MS }, () => {
  test('prints a table of the validators', async () => {
    const { subnetID } = service.devnet.subnets.l1;
    const { code, out, err } = await runCommand(['subnet', ...URL_OPTION, subnetID]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(new RegExp(`^subnet ${subnetID} at P-Chain height \\d+\n\\d+ validators; \\d\\d\\.\\d % of`));
    const table =
      /\nSTATUS +WEIGHT {2}NODE +VERSION +MEDIAN {2}WHY\nsignable {2,}\d\d\.\d % {2}NodeID-\w+ +avalanchego\/1/;
    expect(out).toMatch(table);
    const onTerminal = await runOnTerminal(['subnet', ...URL_OPTION, subnetID]);
    expect(onTerminal.out).toContain('\u001b[32msignable\u001b[39m');
    const shown = stripVTControlCharacters(onTerminal.out).split('\r\n');
    const header = shown.find((line) => line.startsWith('STATUS'))!;
    const row = shown.find((line) => line.startsWith('signable'))!;
    expect(row.indexOf('NodeID-')).toBe(header.indexOf('NODE'));
  });

  test('its JSON is a set for verify, from a service or without one', async () => {
    const message = emit();
    const signed = await runCommand(['aggregate', ...URL_OPTION, message]);
    for (const source of [URL_OPTION, OWN_CONFIG]) {
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

  test('prints what validators did in past collections, the worst first', async () => {
    expect(await runCommand(['aggregate', ...URL_OPTION, emit()])).toMatchObject({ code: 0 });
    const { code, out, err } = await runCommand(['subnet', ...URL_OPTION, '--history']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^subnet 1{32}LpoYY since \d{4}-\d\d-\d\d \d\d:00 UTC: what each validator did/);
    expect(out).toMatch(
      /\nworst hour: .* of the weight signed\n\n *SIGNED +ASKED .* WEIGHT {2}NODE\n[^]*100\.0 % +\d+ .* NodeID-/,
    );
    const json = JSON.parse((await runCommand(['subnet', ...URL_OPTION, '--since', '7d', '--json'])).out);
    expect(json).toMatchObject({ totalWeight: expect.any(String), validators: expect.any(Array) });
    const untracked = await runCommand(['subnet', ...URL_OPTION, '--history', service.devnet.subnets.l1.subnetID]);
    expect(untracked).toMatchObject({ out: '', err: expect.stringContaining('there is no record') });
    const wrong = await runCommand(['subnet', ...URL_OPTION, '--since', 'yesterday']);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('It must be a number of hours or days') });
  });

  test('watches until it is interrupted', async () => {
    const args = ['--watch', '--json', service.devnet.subnets.l1.subnetID];
    const child = spawn(process.execPath, [NODE_FLAG, START, 'subnet', ...URL_OPTION, ...args], { env: {} });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const { value: line = '' } = await lines.next();
    expect(JSON.parse(line)).toMatchObject({ subnetId: service.devnet.subnets.l1.subnetID });
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([null, 'SIGINT']);
    const own = await runCommand(['subnet', ...OWN_CONFIG, '--watch']);
    expect(own).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('give its --url in place of --config'),
    });
  });

  test('says what is wrong', async () => {
    const wrong = await runCommand(['subnet', ...URL_OPTION, 'nonsense']);
    expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringContaining('the subnet: must be a 32-byte ID') });
    const unknown = await runCommand(['subnet', ...URL_OPTION, '--json', `0x${'07'.repeat(32)}`]);
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('(unknown_subnet)') });
    expect(JSON.parse(unknown.out)).toMatchObject({ statusCode: 404, code: 'unknown_subnet' });
  });
});
