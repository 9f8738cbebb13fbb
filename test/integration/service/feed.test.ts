import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { createParser } from 'eventsource-parser';
import { expect, onTestFinished, test } from 'vitest';
import type { FeedMessageRecord } from '../../../src/api/feed/feed-records.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { NODE_FLAG } from '../../support/node-flag.ts';
import { runCommand, START } from '../../unit/cli/run-command.ts';
import { shareService } from './shared-service.ts';

const PATH = '/v1/signatureAggregator/local/messages';
const service = await shareService(5);
const { l1 } = service.devnet.subnets;
/** Both chains from their first block, so that replicas store the same messages. */
const chains = [
  { blockchainId: l1.blockchainID, fromBlock: 1 },
  { blockchainId: 'C' as const, fromBlock: 1 },
];

/** Reads a stream until it has these messages as signed. */
async function readUntil(url: string, messageIDs: readonly string[], lastEventID = '') {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const headers = { accept: 'text/event-stream', ...(lastEventID !== '' && { 'last-event-id': lastEventID }) };
  const { body } = await fetch(`${url}${PATH}`, { headers, signal: leaving.signal });
  const messages: FeedMessageRecord[] = [];
  let cursor = '';
  const parser = createParser({
    onEvent({ id = '', event, data }) {
      cursor = id;
      if (event === 'message') messages.push(JSON.parse(data));
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    const signed = messages.filter(({ status }) => status === 'signed').map(({ messageId }) => messageId);
    if (messageIDs.every((id) => signed.includes(id))) break;
  }
  leaving.abort();
  return { messages, cursor };
}

test('the command messages prints stored messages, and follows new ones until it is interrupted', async () => {
  await using watching = await service.another({ network: { feed: { chains } } });
  const { url } = watching.app;
  const emit = (text: string) => service.devnet.chains.L1.emit(Buffer.from(text)).id;
  const stored = emit('stored');
  await readUntil(url, [stored]);
  const listed = await runCommand(['messages', '--url', url]);
  expect(listed.code, listed.err).toBe(0);
  expect(listed.out).toMatch(new RegExp(`Z  signed   ${stored}  ${l1.blockchainID} \\d+:\\d+  from 0x[0-9a-f]{40}\n`));
  const cursor = /^go on with --after (\S+)\n$/.exec(listed.err)?.[1] ?? '';
  const args = ['messages', '--url', url, '--after', cursor, '--follow', '--json'];
  const command = spawn(process.execPath, [NODE_FLAG, START, ...args], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void command.kill('SIGKILL'));
  const ended = once(command, 'close');
  const errors = text(command.stderr);
  const next = emit('next');
  for await (const line of createInterface({ input: command.stdout })) {
    const { messageId, status } = JSON.parse(line) as FeedMessageRecord;
    // Messages of other tests may be signed after the list; they come again.
    expect(messageId).not.toBe(stored);
    if (messageId === next && status === 'signed') command.kill('SIGINT');
  }
  expect(await ended).toEqual([0, null]);
  expect(await errors).toMatch(/^go on with --after \S+\n$/);
}, 60_000);

test('the command messages filters as the API does, and message shows one of them', async () => {
  await using watching = await service.another({ network: { feed: { chains } } });
  const { url } = watching.app;
  const ofC = service.devnet.chains.C.emit(Buffer.from('of C')).id;
  const ofL1 = service.devnet.chains.L1.emit(Buffer.from('of the L1')).id;
  await readUntil(url, [ofC, ofL1]);
  const idsOf = async (...filters: readonly string[]): Promise<string[]> => {
    const { code, out, err } = await runCommand(['messages', '--url', url, '--json', ...filters]);
    expect(code, err).toBe(0);
    return out
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as FeedMessageRecord).messageId);
  };
  const onL1 = await idsOf('--source', l1.blockchainID, '--status', 'signed');
  expect([onL1.includes(ofL1), onL1.includes(ofC)]).toEqual([true, false]);
  expect(await idsOf('--sender', `0x${'1'.repeat(40)}`)).toEqual([]);
  expect(await idsOf('--destination', `0x${'1'.repeat(64)}`)).toEqual([]);
  const { hash, messages } = service.devnet.chains.C.transact([Buffer.from('of a transaction')]);
  await readUntil(url, [messages[0]?.id ?? '']);
  expect(await idsOf('--tx', hash)).toEqual([messages[0]?.id]);
  const refused = await runCommand(['messages', '--url', url, '--source', l1.subnetID]);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('--source is no watched chain') });

  const shown = await runCommand(['message', ofL1, '--url', url, '--destination', l1.blockchainID, '--json']);
  expect(shown.code, shown.err).toBe(0);
  expect(JSON.parse(shown.out)).toMatchObject({ messageId: ofL1, status: 'signed', signedMessage: expect.any(String) });
  const words = await runCommand(['message', ofC, '--url', url]);
  expect(words).toMatchObject({ code: 0, out: expect.stringMatching(/^message ID +.*\n[^]*status +signed\n/) });
  const unknown = await runCommand(['message', `0x${'0'.repeat(64)}`, '--url', url]);
  expect(unknown).toMatchObject({ code: 3, err: expect.stringContaining('the feed has no message') });
}, 60_000);

test('the command forget removes the messages of a chain', async () => {
  await using watching = await service.another({ network: { feed: { chains } }, access: { operateWithoutKey: true } });
  const { url } = watching.app;
  const id = service.devnet.chains.L1.emit(Buffer.from('forgotten')).id;
  await readUntil(url, [id]);
  const forgotten = await runCommand(['forget', l1.blockchainID, '--url', url]);
  expect(forgotten).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^the feed has forgotten the chain, with \d+ messages\n$/),
  });
  const unknown = await runCommand(['forget', `0x${'0'.repeat(64)}`, '--url', url]);
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('never watched') });
}, 60_000);

test('a reader that moves to another replica with its cursor misses no message', async () => {
  await using one = await service.another({ network: { feed: { chains } } });
  await using other = await service.another({ network: { feed: { chains } } });
  const emit = (text: string) =>
    [service.devnet.chains.C, service.devnet.chains.L1].map((chain) => chain.emit(Buffer.from(text)).id);
  const before = emit('before');
  const first = await readUntil(one.app.url, before);
  const after = emit('after');
  const second = await readUntil(other.app.url, after, first.cursor);
  expect(second.messages.map(({ messageId }) => messageId)).toEqual(expect.arrayContaining(after));
  for (const { signedMessage } of second.messages) {
    const verdict = await one.post({ signedMessage }, '/v1/signatureAggregator/local/verify');
    expect(verdict.body).toMatchObject({ isValid: true });
  }
  const page = await one.get(`${PATH}?after=recent&status=signed`);
  const signed = (page.body['messages'] as FeedMessageRecord[]).map(({ messageId }) => messageId);
  expect(signed).toEqual(expect.arrayContaining(before));
  const [messageID] = before;
  const again = await one.get(`${PATH}/${messageID}?destinationBlockchainId=${l1.blockchainID}`);
  expect(again.body).toMatchObject({ status: 'signed', messageId: messageID });
});

test('a reload watches a chain and tracks its subnet, until another one removes it', async () => {
  await using reloaded = await service.another({ network: { allowedSubnetIds: [] } });
  const { app, config, get, post } = reloaded;
  const watch = (...watched: typeof chains) =>
    app.update({
      ...config,
      networks: config.networks.map((network) => ({ ...network, feed: { ...network.feed, chains: watched } })),
    });
  const { id, bytes } = service.devnet.chains.L1.emit(Buffer.from('before the reload'));
  const request = { message: bytesToHex(bytes), signingSubnetId: l1.subnetID };
  expect(await get(PATH)).toMatchObject({ body: { code: 'feed_not_configured' } });
  expect(await post(request)).toMatchObject({ status: 403, body: { code: 'subnet_not_allowed' } });
  await watch(...chains.slice(0, 1));
  await readUntil(app.url, [id]);
  expect((await post(request)).status).toBe(201);
  await watch();
  expect(await post(request)).toMatchObject({ status: 403, body: { code: 'subnet_not_allowed' } });
  const page = await get(`${PATH}?after=recent`);
  expect((page.body['messages'] as FeedMessageRecord[]).map(({ messageId }) => messageId)).toContain(id);
});
