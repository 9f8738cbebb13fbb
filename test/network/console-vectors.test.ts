import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { parseSignatureRequest } from '../../src/warp/signature-request.ts';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import {
  readCases,
  readPeerTranscript,
  readRpcExchanges,
  readTransaction,
  rpcResult,
  TRANSACTION_NAMES,
} from '../vectors/vectors.ts';
import { startChromium } from './chromium.ts';
import { type ConsolePage, openConsole } from './console-page.ts';

/**
 * All 17 files that were captured on a real network, pasted into the console as people would: whole, and broken. The service's own
 * network is another one, so nobody signs; what a real network makes of them is in service-aggregation.test.ts.
 */

interface Pasted {
  readonly name: string;
  readonly text: string;
  /** What the page says that it is. */
  readonly reads: RegExp;
  readonly broken: string;
  /** Why the broken one cannot be read. */
  readonly why: RegExp;
}

const opened = new AsyncDisposableStack();
let browser: Browser;
let service: RunningService;

beforeAll(async () => {
  browser = await startChromium();
  opened.defer(() => browser.close());
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
const TRANSACTION_READS: Readonly<Record<string, RegExp>> = {
  RegisterL1ValidatorTx_register_node5: /An L1 asks the P-Chain to register a validator[^]*NodeID-/,
  SetL1ValidatorWeightTx_weight_node4: /The weight of an L1 validator becomes 350/,
};
const CUT = { unsigned: /as an unsigned message:/, signed: /as a signed message:/ };

const cases = readCases();
const transactions = TRANSACTION_NAMES.map(readTransaction);

test('the vectors are 17 files', () => {
  const captured = readdirSync(join(import.meta.dirname, '..', 'vectors')).filter(
    (file) => file.endsWith('.json') && !file.startsWith('ids-') && file !== 'go-aggregator.json',
  );
  expect(captured).toHaveLength(17);
  expect(captured.toSorted()).toEqual(
    [
      ...cases.map(({ name }) => `case_${name}.json`),
      ...transactions.map(({ name }) => `tx_${name}.json`),
      ...['info.json', 'p2p_transcript.json', 'pchain.json'],
    ].toSorted(),
  );
  expect(Object.keys(CASE_READS).toSorted()).toEqual(cases.map(({ name }) => name).toSorted());
});

test('unsigned messages are read, and broken ones say why', async () => {
  await using shown = await openConsole(browser, service.app.url, { fails: true });
  const ofCases = cases.map(({ name, unsignedMessage }) =>
    cutShort(name, bytesToHex(unsignedMessage), CASE_READS[name] as RegExp),
  );
  // What was asked of a validator: mostly the same messages, and some that none of the cases has.
  const known = new Set(ofCases.map(({ text }) => text));
  const ofTranscript = signatureRequests().filter(({ text }) => !known.has(text));
  expect(ofTranscript.map(({ name }) => name)).toEqual([
    'p_registration_false_removed',
    'bad_l1_unknown_message',
    'bad_wrong_network_id (to the L1)',
  ]);
  for (const pasted of [...ofCases, ...ofTranscript]) await expectRead(shown, 'Sign', pasted);
});

test('signed messages are read, and broken ones say why', async () => {
  await using shown = await openConsole(browser, service.app.url, { fails: true });
  await shown.goTo('Inspect');
  const signed = cases.flatMap(({ name, signed: found }) =>
    found ? [cutShort(name, bytesToHex(found.signedMessage), CASE_READS[name] as RegExp, CUT.signed)] : [],
  );
  expect(signed).toHaveLength(7);
  for (const pasted of signed) {
    await expectRead(shown, 'Inspect', pasted, async () => {
      await shown.page.getByText('Signed Warp message', { exact: true }).waitFor();
      // Its network is another one, and the service says so.
      await shown.page.getByText('wrong_network').waitFor();
    });
  }
});

test.each(transactions)(
  'transaction $name is read from what a node answers, and asked for by its ID',
  async (vector) => {
    const { name, txID, json } = vector;
    await using shown = await openConsole(browser, service.app.url, { fails: true });
    const { page } = shown;
    const card = page.locator('.failure-card');
    const answer = JSON.stringify(json.response, null, 1);
    const reads = TRANSACTION_READS[name];
    if (reads !== undefined) {
      // The signed message of the L1 that it brings.
      await expectRead(shown, 'Sign', {
        ...{ name, text: answer, reads },
        broken: answer.slice(0, -2),
        why: /This looks like JSON, but is none/,
      });
    }
    await shown.paste(reads === undefined ? answer : txID);
    await page.getByLabel('These 32 bytes are').waitFor();
    await page.getByText(/^Signed is the message of the P-Chain about it/).waitFor();
    // The last letter is part of the checksum.
    await shown.paste(`${txID.slice(0, -1)}${txID.endsWith('1') ? '2' : '1'}`);
    await shown.collect();
    await card.getByText(/checksum/).waitFor();
  },
);

test('a transaction that this network never had is named as such', async () => {
  const [{ txID }] = transactions as [(typeof transactions)[number]];
  await using shown = await openConsole(browser, service.app.url, { fails: true });
  await shown.paste(txID);
  await shown.collect();
  const card = shown.page.locator('.failure-card');
  await card.getByText('unknown_transaction').waitFor();
  expect(await card.innerText()).toContain(txID);
});

test('what holds no message says so', async () => {
  await using shown = await openConsole(browser, service.app.url, { fails: true });
  const alert = shown.page.getByRole('alert');
  const expectRefused = async (text: string, why: string) => {
    await shown.paste(text);
    await alert.getByText(why).waitFor();
    await shown.paste('');
    await alert.waitFor({ state: 'detached' });
  };
  for (const api of ['info', 'pchain'] as const) {
    const answers = readRpcExchanges(api).map(({ response }) => response);
    await expectRefused(JSON.stringify(answers), 'This JSON has no log of SendWarpMessage in it, and no message');
  }
  const { nodeID } = rpcResult<{ nodeID: string }>(readRpcExchanges('info'), 'info.getNodeID');
  await expectRefused(nodeID, 'This is the NodeID of a validator.');
  for (const bytes of ['02ffffff', '63010203']) await expectRefused(bytes, 'These bytes fit no known form');
});

/** What the transcript's client asked a validator to sign, as the body of a request here. */
function signatureRequests(): Pasted[] {
  const { frames, requests } = readPeerTranscript();
  return frames.flatMap(({ direction, decoded }) => {
    const asked = direction === 'out' ? decoded['appRequest'] : undefined;
    if (asked === undefined) return [];
    const name = requests.get(Number(asked['requestId'])) ?? '';
    const bytes = Buffer.from(String(asked['appBytes']), 'base64');
    if (/garbage|unknown handler/.test(name)) return [];
    const { message } = parseSignatureRequest(bytes);
    return [cutShort(name, bytesToHex(message), /A call with bytes of its own|P-Chain/)];
  });
}

/** One whose last byte got lost when it was copied. */
function cutShort(name: string, hex: string, reads: RegExp, why = CUT.unsigned): Pasted {
  return { name, text: hex, reads, broken: hex.slice(0, -2), why };
}

/** Pastes it whole and broken, and leaves the field empty. */
async function expectRead(
  shown: ConsolePage,
  view: 'Sign' | 'Inspect',
  { name, text, reads, broken, why }: Pasted,
  alsoExpect: () => Promise<void> = async () => undefined,
): Promise<void> {
  const { page } = shown;
  const paste = (pasted: string) => (view === 'Sign' ? shown.paste(pasted) : shown.pasteToInspect(pasted));
  const decoded = page.locator('main .decoded').filter({ visible: true });
  const alert = page.getByRole('alert').filter({ visible: true });
  await paste(text);
  await decoded.waitFor();
  expect(await decoded.innerText(), name).toMatch(reads);
  await alsoExpect();
  await paste(broken);
  await alert.waitFor();
  expect(await alert.innerText(), name).toMatch(why);
  await paste('');
  await alert.waitFor({ state: 'detached' });
  await decoded.waitFor({ state: 'detached' });
}
