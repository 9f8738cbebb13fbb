import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { type Answer, startService, validatorsAt } from './running-service.ts';

/** In nAVAX: the Go aggregator leaves validators below it out. */
const THRESHOLD = 2_048;

/** A node's API in front of another, with balances as the test has them. */
async function startApi(apiUrl: string, balances: ReadonlyMap<string, number>) {
  const answerTo = async (url: string, request: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await (await fetch(`${apiUrl}${url}`, { method: 'POST', headers, body: request })).text();
    const { result } = JSON.parse(answer) as { result?: { validators?: { nodeID: string; balance?: string }[] } };
    let written = answer;
    for (const { nodeID, balance } of result?.validators ?? []) {
      const other = balances.get(nodeID);
      if (other === undefined) continue;
      const [before, field] = [written.indexOf(nodeID), `"balance":"${balance}"`];
      written = written.slice(0, before) + written.slice(before).replace(field, `"balance":"${other}"`);
    }
    return written;
  };
  const server = createServer((request, response) => {
    text(request)
      .then((body) => answerTo(request.url ?? '', body))
      .then((body) => response.setHeader('content-type', 'application/json').end(body))
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('an L1 validator below the threshold signs only what has no quorum without it', async () => {
  const balances = new Map<string, number>();
  await using service = await startService(5);
  const { devnet } = service;
  const { subnetID, olderHeight } = devnet.subnets.l1;
  // It has 150 of a total weight of 910, of which 60 cannot sign.
  const low = devnet.nodeIDs[2] ?? expect.fail('no third validator');
  await using api = await startApi(devnet.apiUrl, balances);
  const network = { pChainApi: [{ baseUrl: api.url }] };
  let count = 0;
  const message = (): string => {
    count += 1;
    return Buffer.from(devnet.chains.L1.emit(Buffer.from(`message ${count}`)).bytes).toString('hex');
  };
  const signersOf = async (answer: Answer, height?: number): Promise<string[]> => {
    expect(answer.status).toBe(201);
    const set = createWarpSet(await validatorsAt(devnet.apiUrl, subnetID, height ?? 'proposed'));
    const { signature } = parseSignedMessage(parseHex(String(answer.body['signedMessage']), 'signedMessage'));
    return signature.signers.flatMap((index) => set.validators[index]?.nodeIDs ?? []);
  };

  balances.set(low, THRESHOLD - 1);
  await using short = await service.another({ network });
  for (const more of [
    {},
    { quorumPercentageBuffer: 33 },
    { quorumPercentage: 76 },
    { destinationBlockchainId: devnet.subnets.l1.blockchainID },
  ]) {
    expect(await signersOf(await short.post({ message: message(), ...more }))).not.toContain(low);
  }
  // There it has 150 of 510, and 60 are of a node that does not run.
  const older = await short.post({ message: message(), quorumPercentage: 55, pChainHeight: olderHeight });
  expect(await signersOf(older, olderHeight)).not.toContain(low);

  // All but it have 700 of 910, which is less than 77 %. Its signature of this message is in the store then.
  const needed = message();
  expect(await signersOf(await short.post({ message: needed, quorumPercentage: 77 }))).toContain(low);
  expect(await signersOf(await short.post({ message: needed, quorumPercentage: 67 }))).not.toContain(low);
});
