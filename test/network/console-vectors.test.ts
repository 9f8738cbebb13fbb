import { afterAll, beforeAll, expect, test } from 'vitest';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import { readCases, readRpcExchanges, readTransaction, rpcResult } from '../vectors/vectors.ts';
import { useConsole } from './console-page.ts';

/** What was captured on a real network, pasted into the console: whole, and with its end lost. The service's own network is another one. */

const opened = new AsyncDisposableStack();
let service: RunningService;
const shownConsole = useConsole();
beforeAll(async () => {
  service = opened.use(await startService(5));
});
afterAll(() => opened.disposeAsync());

const CASE_READS: Readonly<Record<string, RegExp>> = {
  bad_c_unknown_message: /A call with bytes of its own[^]*never sent/,
  bad_p_weight: /The weight of an L1 validator becomes 351/,
  c_warp_0: /A call with bytes of its own[^]*hello from C 0/,
  c_warp_1_q80: /A call with bytes of its own[^]*hello from C 1/,
  l1_warp_0: /A call with bytes of its own[^]*hello from L1 0/,
  l1_warp_0_at_height: /A call with bytes of its own[^]*hello from L1 0/,
  l1_warp_q100_inactive: /A call with bytes of its own[^]*hello from L1/,
  p_conversion: /A subnet has become an L1/,
  p_registration_true: /The P-Chain confirms that an L1 validator is registered/,
  p_weight: /The weight of an L1 validator becomes 350/,
};

const cases = readCases();

test('unsigned messages, signed ones and answers of nodes are read, and broken ones say why', async () => {
  expect(Object.keys(CASE_READS).toSorted()).toEqual(cases.map(({ name }) => name).toSorted());
  const shown = await shownConsole.open(service.app.url, { fails: true });
  const { page } = shown;
  const decoded = page.locator('main .decoded').filter({ visible: true });
  const alert = page.getByRole('alert').filter({ visible: true });
  const expectRead = async (paste: (text: string) => Promise<void>, text: string, reads: RegExp, why: RegExp) => {
    await paste(text);
    await decoded.waitFor();
    expect(await decoded.innerText()).toMatch(reads);
    await paste(text.slice(0, -2));
    await alert.waitFor();
    expect(await alert.innerText(), text).toMatch(why);
    await paste('');
    await alert.waitFor({ state: 'detached' });
    await decoded.waitFor({ state: 'detached' });
  };
  for (const { name, unsignedMessage } of cases) {
    const message = bytesToHex(unsignedMessage);
    await expectRead((text) => shown.paste(text), message, CASE_READS[name] as RegExp, /as an unsigned message:/);
  }
  const { json } = readTransaction('SetL1ValidatorWeightTx_weight_node4');
  const answer = JSON.stringify(json.response, null, 1);
  const weight = /The weight of an L1 validator becomes 350/;
  await expectRead((text) => shown.paste(text), answer, weight, /This looks like JSON, but is none/);
  await shown.goTo('Inspect');
  const { signed } = cases.find(({ name }) => name === 'p_conversion') as (typeof cases)[number];
  const signedMessage = bytesToHex(signed?.signedMessage ?? new Uint8Array());
  const conversion = /A subnet has become an L1/;
  await expectRead((text) => shown.pasteToInspect(text), signedMessage, conversion, /as a signed message:/);
});

test('a transaction is known by its ID, and one with a wrong checksum or of another network is named as such', async () => {
  const { txID } = readTransaction('SetL1ValidatorWeightTx_weight_node4');
  const shown = await shownConsole.open(service.app.url, { fails: true });
  const { page } = shown;
  const card = page.locator('.failure-card');
  await shown.paste(txID);
  await page.getByLabel('These 32 bytes are').waitFor();
  await page.getByText(/^Signed is the message of the P-Chain about it/).waitFor();
  await shown.collect();
  await card.getByText('unknown_transaction').waitFor();
  expect(await card.innerText()).toContain(txID);
  // The last letter is part of the checksum.
  await shown.paste(`${txID.slice(0, -1)}${txID.endsWith('1') ? '2' : '1'}`);
  await shown.collect();
  await card.getByText(/checksum/).waitFor();
});

test('what holds no message says so', async () => {
  const shown = await shownConsole.open(service.app.url, { fails: true });
  const alert = shown.page.getByRole('alert');
  const answers = readRpcExchanges('info');
  const { nodeID } = rpcResult<{ nodeID: string }>(answers, 'info.getNodeID');
  for (const [text, why] of [
    [JSON.stringify(answers), 'This JSON has no log of SendWarpMessage in it, and no message'],
    [nodeID, 'This is the NodeID of a validator.'],
    ['63010203', 'These bytes fit no known form'],
  ] as const) {
    await shown.paste(text);
    await alert.getByText(why).waitFor();
    expect(await alert.count()).toBe(1);
  }
});
