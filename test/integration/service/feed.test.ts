import { createParser } from 'eventsource-parser';
import { expect, onTestFinished, test } from 'vitest';
import type { FeedMessageRecord } from '../../../src/api/feed/feed-records.ts';
import { shareService } from './shared-service.ts';

const PATH = '/v1/signatureAggregator/local/messages';
const service = await shareService(5);
const { l1 } = service.devnet.subnets;
/** Both chains from their first block, so that replicas store the same messages. */
const chains = [
  { blockchainId: l1.blockchainID, fromBlock: 1 },
  { blockchainId: 'C', fromBlock: 1 },
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

test('a reader that moves to another replica with its cursor misses no message, and gets none again', async () => {
  await using one = await service.another({ network: { feed: { chains } } });
  await using other = await service.another({ network: { feed: { chains } } });
  const emit = (text: string) =>
    [service.devnet.chains.C, service.devnet.chains.L1].map((chain) => chain.emit(Buffer.from(text)).id);
  const before = emit('before');
  const first = await readUntil(one.app.url, before);
  const after = emit('after');
  const second = await readUntil(other.app.url, after, first.cursor);
  expect(second.messages.map(({ messageId }) => messageId).toSorted()).toEqual(after.toSorted());
  for (const { signedMessage } of second.messages) {
    const verdict = await one.post({ signedMessage }, '/v1/signatureAggregator/local/verify');
    expect(verdict.body).toMatchObject({ isValid: true });
  }
  const page = await one.get(`${PATH}?after=recent&status=signed`);
  const signed = (page.body['messages'] as FeedMessageRecord[]).map(({ messageId }) => messageId);
  expect(signed).toEqual(expect.arrayContaining(before));
  const [messageID] = after;
  const again = await one.get(`${PATH}/${messageID}?destinationBlockchainId=${l1.blockchainID}`);
  expect(again.body).toMatchObject({ status: 'signed', messageId: messageID });
});
