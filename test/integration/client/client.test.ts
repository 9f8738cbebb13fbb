import { describe, expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import type { SignatureAggregatorError } from '../../../src/client/client-error.ts';
import type { AggregationEvent } from '../../../src/client/gen/api.ts';
import { messageIdOf } from '../../../src/client/warp-messages.ts';
import { shareService, whileValidators } from '../service/shared-service.ts';

const service = await shareService(5, { settings: { access: { operateWithoutKey: true } } });
const client = createClient({ baseUrl: `${service.app.url}/`, network: 'fuji' });
const { primary, l1 } = service.devnet.subnets;
const examples = service.devnet.examples('fuji');
const txHash =
  examples
    .find(({ method }) => method === 'GET')
    ?.path.split('/')
    .at(-1) ?? '';

describe('a client of a service', () => {
  test('has a message signed, which its other calls and destinations accept', async () => {
    const [message = ''] = service.devnet.emitMessages(1);
    const events: AggregationEvent[] = [];
    const signed = await client.sign(message, { onProgress: (event) => events.push(event) });
    expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(['resolved', 'answer', 'result']));
    expect(await client.sign({ message, quorumPercentage: 67 }, { wait: 1 })).toEqual(signed);
    expect(await client.verify(signed.signedMessage, { quorumPercentage: 67 })).toMatchObject({ isValid: true });
    const { readings } = await client.decode(signed.signedMessage, { as: 'signedMessage' });
    expect(readings).toMatchObject([{ as: 'signedMessage', unsignedMessage: message.replace('0x', '') }]);
    const answer = { status: 201, headers: new Headers(), body: { ...signed } };
    const expected = { subnetID: primary.subnetID, height: signed.pChainHeight, quorum: 67 };
    expect(await service.verify(answer, expected)).toMatchObject({ kind: 'valid' });
  });

  test('has the message of a transaction signed, with progress and without', async () => {
    const signed = await client.signTransaction(txHash);
    const settings = { quorumPercentage: 67, wait: 0, onProgress: () => undefined };
    expect(await client.signTransaction(txHash, settings)).toEqual(signed);
  });

  test('has a message signed as the callback of the interchain SDK', async () => {
    const [message = ''] = service.devnet.emitMessages(1);
    const { aggregateSignatures } = client;
    const input = { unsignedMessageHex: message, signingSubnetId: primary.subnetID };
    const signed = await aggregateSignatures({ ...input, justificationHex: '0x' });
    expect(signed).toMatch(/^0x[0-9a-f]+$/);
    expect(messageIdOf(signed)).toBe(messageIdOf(message));
    expect(await aggregateSignatures(input)).toBe(signed);
  });

  test('reads destinations, subnets and requests', async () => {
    expect(await client.destination(l1.blockchainID)).toMatchObject({ subnetId: l1.subnetID, quorumPercentage: 67 });
    expect((await client.subnets()).map(({ subnetId }) => subnetId)).toContain(primary.subnetID);
    expect((await client.subnet(primary.subnetID)).validators).toHaveLength(5);
    expect((await client.subnet(primary.subnetID, { validators: 1 })).validators).toHaveLength(1);
    const response = await service.get(`/v1/signatureAggregator/fuji/aggregateSignatures/${txHash}`);
    const id = response.headers.get('x-request-id') ?? '';
    expect(await client.request(id)).toMatchObject({ id, outcome: 'signed' });
  });

  test('throws the code, the details and the request of an error', async () => {
    await expect(client.sign('0x00')).rejects.toMatchObject({
      name: 'SignatureAggregatorError',
      code: 'invalid_request',
      status: 400,
      requestId: expect.any(String),
    });
    const [message = ''] = service.devnet.emitMessages(1);
    await whileValidators(service, { kind: 'refusing' }, async () => {
      const once = createClient({ baseUrl: service.app.url, network: 'fuji', maxRetries: 0 });
      const error = await once.sign(message).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'insufficient_weight' });
      // While all refuse, no more are asked than the quorum needs.
      const { details } = error as SignatureAggregatorError;
      if (details === undefined || !('outcomes' in details)) expect.fail();
      const { refused, not_asked } = details.outcomes;
      expect(refused.count).toBeGreaterThanOrEqual(3);
      expect(refused.count + not_asked.count).toBe(5);
    });
    const elsewhere = createClient({ baseUrl: service.app.url, network: 'nowhere' });
    await expect(elsewhere.subnets()).rejects.toMatchObject({ code: 'unknown_network', status: 404 });
  });
});

test('messages of watched chains come, and go on after a cursor until the signal ends them', async () => {
  const chains = [{ blockchainId: l1.blockchainID, fromBlock: 1 }];
  await using watching = await service.another({ network: { feed: { chains } } });
  const reader = createClient({ baseUrl: watching.app.url, network: 'fuji' });
  const emit = (text: string) => service.devnet.chains.L1.emit(Buffer.from(text)).id;
  /** Reads until these messages have come, and returns what came with the last cursor. */
  const readUntil = async (wanted: readonly string[], after?: string) => {
    const ended = new AbortController();
    const found: string[] = [];
    const query = after === undefined ? {} : { after };
    let end = '';
    for await (const { message, cursor } of reader.messages({ ...query, status: 'signed', signal: ended.signal })) {
      found.push(message.messageId);
      // An event of a signed message leaves it out.
      expect(messageIdOf(message.unsignedMessage)).toBe(message.messageId);
      end = cursor;
      if (wanted.every((id) => found.includes(id))) ended.abort();
    }
    return { found, end };
  };
  const { end } = await readUntil([emit('one'), emit('two')]);
  const third = emit('three');
  expect((await readUntil([third], end)).found).toEqual([third]);
  await expect(client.messages().next()).rejects.toMatchObject({ code: 'feed_not_configured', status: 404 });
  await expect(reader.messages({ after: 'x' }).next()).rejects.toMatchObject({ code: 'invalid_request' });
});
