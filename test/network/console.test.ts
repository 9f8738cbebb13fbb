import { expect, test } from 'vitest';
import type { MessagePageBody } from '../../src/api/feed/feed-records.ts';
import { DEFAULT_NETWORKS } from '../../src/config/schema/network-schema.ts';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { PRIMARY_NETWORK_ID } from '../../src/warp/ids.ts';
import { readCases, readTransaction } from '../vectors/vectors.ts';
import { startOnDevnet, useConsole } from './console-page.ts';

/** What is signed and inspected in the console: a service on its devnet in a real browser. */

const shown = useConsole();

async function readMessages(url: string, chain: string): Promise<MessagePageBody> {
  const response = await fetch(`${url}/v1/signatureAggregator/local/messages?sourceBlockchainId=${chain}`);
  return (await response.json()) as MessagePageBody;
}

const failureCard = () => shown.page.locator('.failure-card').innerText();
const consequences = () => shown.page.locator('.consequences').innerText();

test('the example is signed in two clicks, each time again, also once the feed has read its block', async () => {
  // The feed of a service without a configuration.
  await using app = await startOnDevnet(20, { feed: DEFAULT_NETWORKS.local.feed });
  await shown.open({ origin: app.url });
  const signed = new Set<string>();
  for (let round = 0; round < 2; round++) {
    await shown.page.getByRole('button', { name: 'Try an example' }).click();
    await shown.page.getByText('Unsigned Warp message').waitFor();
    const { height, blockchainID } = app.devnet!.chains.C;
    const readUpTo = async () => {
      const { chains } = await readMessages(app.url, blockchainID);
      return chains[0]?.signedThrough;
    };
    await expect.poll(readUpTo).toBe(height);
    await shown.sign();
    // Each time validators are asked, so there is something to see.
    await shown.page.getByRole('img', { name: /^Map of 20 validators.* \d+ signed/ }).waitFor();
    signed.add(await shown.table('Signed message').innerText());
  }
  expect(signed.size).toBe(2);
  expect(shown.problems).toEqual([]);
});

test('the bar fills, and the result is handed over in each form', async () => {
  await shown.open();
  await shown.pasteNew();
  const { page } = shown;
  expect(await page.locator('.as-text').innerText()).toMatch(/^message \d+$/);
  await shown.sign();
  const bar = page.getByRole('progressbar', { name: 'Weight that has signed' });
  expect(Number(await bar.getAttribute('aria-valuenow'))).toBeGreaterThanOrEqual(67);
  const forms: Record<string, RegExp> = {
    'For an EVM chain': /0x0200000000000000000000000000000000000005[^]*0x6f825350/,
    'For the P-Chain': /RegisterL1ValidatorTx/,
    curl: /curl -s 'http:[^]*"message":"0x/,
    SDK: /signatureAggregator\.aggregate\(/,
    'Signers (': /NodeID-/,
  };
  for (const [tab, text] of Object.entries(forms)) {
    await page.getByRole('tab', { name: tab }).click();
    expect(await page.getByRole('tabpanel').innerText()).toMatch(text);
  }
  expect(shown.problems).toEqual([]);
});

test('weights of the primary network are AVAX, exact on hover and when copied', async () => {
  await shown.open();
  await shown.pasteNew();
  await shown.sign();
  const line = shown.page.locator('.weight-line').filter({ visible: true });
  // On a busy machine more validators are asked, up to all.
  expect(await line.innerText()).toMatch(
    /^(?:\d\d\.\d|100)\s% of the weight has signed · \d\d\.\d\d\sM of 35\.00\sM AVAX/,
  );
  const total = line.locator('[data-exact]').nth(1);
  expect(await total.getAttribute('title')).toMatch(/^35(?:\s\d{3}){5} nAVAX$/);
  await shown.page.evaluate(`getSelection().selectAllChildren(document.querySelector('.weight-line'))`);
  await shown.page.keyboard.press('Control+c');
  expect(await shown.page.evaluate('navigator.clipboard.readText()')).toMatch(/\d{17} of 35\d{15} nAVAX$/);
});

test('a message that validators refuse: who refused it, why, and what can be done', async () => {
  await shown.open({ fails: true });
  await shown.fail();
  const card = await failureCard();
  expect(card).toMatch(/insufficient_weight|signing_refused/);
  expect(card).toMatch(/No validator knows this message: \d+ of 20 refused\.[^]*What to do:/);
  expect(card).toMatch(/NodeID-[^]*refused[^]*code \d+/);
  const table = shown.table('Validators that did not sign');
  const refusing = table.locator('tr.row', { hasText: 'refused' }).first();
  await refusing.getByRole('button', { name: 'Details' }).press('Enter');
  expect(await table.locator('tr.opened').innerText()).toMatch(/code 3: unknown message \w+/);
  // What is shown is sent, also where it was changed since.
  await shown.quorum.fill('80');
  await shown.page.getByRole('button', { name: 'Try again', exact: true }).click();
  await shown.page
    .locator('.progress-card')
    .getByText(/quorum 80\s%/)
    .first()
    .waitFor();
});

test('validators that do not answer are named while the request goes on', async () => {
  await using app = await startOnDevnet(5);
  const devnet = app.devnet!;
  for (const index of [0, 1]) devnet.validator(index).appRequest = () => undefined;
  await shown.open({ origin: app.url, fails: true });
  await shown.pasteNew(devnet);
  await shown.quorum.fill('100');
  await shown.collect();
  await shown.page.getByText(/No answer yet from/).waitFor();
  const named = await shown.page.locator('.awaited').innerText();
  for (const nodeID of devnet.nodeIDs.slice(0, 2)) expect(named).toContain(nodeID);
  expect(await shown.page.getByRole('button', { name: 'Stop' }).isVisible()).toBe(true);
  await shown.heading('What went wrong').waitFor();
  expect(await failureCard()).toMatch(/timed out/);
});

test('a message of another network, a buffer that is too much and a subnet that is not asked are not in reach', async () => {
  await using other = await startOnDevnet(5, { allowedSubnetIds: [], feed: { chains: [] } });
  await shown.open({ origin: other.url });
  await shown.example('C-Chain message');
  await shown.page.getByText(/^In reach/).waitFor();
  for (const [label, problem] of [
    ['Message of Mainnet', 'This message is of network ID 1; this service signs for network ID 1337.'],
    ['Quorum with too much of a buffer', /add up to 110\s%/],
    ['L1 message', 'This service does not ask the validators of that subnet.'],
  ] as const) {
    await shown.example(label);
    await shown.page.getByText(problem).waitFor();
    expect(await consequences()).not.toContain('In reach');
  }
});

test('a message that is too long is not sent to the service', async () => {
  await shown.open();
  await shown.input.fill('00'.repeat(300_000));
  const problem = /This has 300\s000 bytes; messages of more than 262\s186 cannot be signed/;
  await expect.poll(() => shown.page.getByRole('alert').innerText()).toMatch(problem);
});

test('the address keeps message, quorum and subnet over a reload', async () => {
  await shown.open();
  await shown.example('C-Chain message signed by the L1');
  await shown.quorum.fill('80');
  const pasted = await shown.input.inputValue();
  await expect.poll(() => shown.page.url()).toContain('quorum=80');
  await shown.page.reload();
  await shown.page.getByText('Unsigned Warp message').waitFor();
  expect(await shown.input.inputValue()).toBe(pasted);
  expect(await shown.quorum.inputValue()).toBe('80');
  await shown.page.getByText('Subnet, height and justification').click();
  expect(pasted).toContain(await shown.page.getByLabel('Signing subnet').first().inputValue());
});

test('the subnet and quorum of a pasted request go with it, and are visible while they apply', async () => {
  await shown.open();
  const { page } = shown;
  const differences = page.getByRole('region', { name: 'Differs from the defaults' });
  const subnet = shown.devnet.subnets.l1.subnetID;
  const [message = ''] = shown.devnet.emitMessages(1);
  await shown.input.fill(JSON.stringify({ message, signingSubnetId: subnet, quorumPercentage: 80 }));
  await expect.poll(() => differences.innerText()).toMatch(RegExp(`Signing subnet[^]*${subnet}[^]*Quorum[^]*80 %`));
  expect(await page.getByText('Subnet, height and justification').isVisible()).toBe(true);
  await shown.pasteNew();
  expect(await differences.count()).toBe(0);
  expect(await shown.quorum.inputValue()).toBe('67');
  await shown.sign();
  // Signed by the network of its source chain.
  await page.getByRole('tab', { name: 'curl' }).click();
  expect(await page.getByRole('tabpanel').innerText()).not.toMatch(/signingSubnetId|quorumPercentage/);

  await shown.quorum.fill('80');
  await expect.poll(() => differences.innerText()).toMatch(/Quorum[^]*80 %[^]*also for the next message/);
  await page.getByRole('button', { name: 'Use the defaults' }).click();
  await expect.poll(() => differences.count()).toBe(0);
});

test('a destination decides who signs, and other signers are warned of', async () => {
  await shown.open({ fails: true });
  const { page } = shown;
  const { l1 } = shown.devnet.subnets;
  const destination = () => page.getByLabel('Destination chain', { exact: true }).filter({ visible: true });
  await shown.pasteNew();
  await destination().fill(l1.blockchainID);
  await page.getByText('Accepted by the destination, which demands').waitFor();
  await page.getByText(/^In reach/).waitFor();
  await shown.sign();
  await page.getByText('Subnet Devnet L1').waitFor();
  expect(await page.getByRole('list', { name: 'Warnings' }).count()).toBe(0);

  await page.getByText('Subnet, height and justification').click();
  await page.getByLabel('Signing subnet').first().fill(PRIMARY_NETWORK_ID);
  await page.getByText('The destination accepts the validators of another subnet only.').waitFor();
  await shown.pasteNew();
  await shown.sign();
  await page.getByRole('list', { name: 'Warnings' }).getByText('signers_refused').waitFor();
  await page.getByRole('button', { name: 'Inspect' }).click();
  await shown.heading('Valid a destination accepts it').waitFor();
  await destination().fill(l1.blockchainID);
  await shown.heading(/^Not valid/).waitFor();
  expect(await failureCard()).toMatch(/own subnet's validators[^]*Destination's epoch/);
});

test('with an L1 as signer, the console says of the P- and the C-Chain what verifying the message says', async () => {
  await shown.open({ fails: true });
  const { page } = shown;
  const { l1, primary } = shown.devnet.subnets;
  await shown.example('C-Chain message signed by the L1');
  await page.getByText('the P-Chain, the C-Chain and other L1s refuse these signers').waitFor();
  expect(await consequences()).not.toContain('Accepted by the P-Chain');
  await shown.sign();
  await page.getByRole('button', { name: 'Inspect' }).click();
  const destination = page.getByLabel('Destination chain', { exact: true }).filter({ visible: true });
  for (const [chain, verdict] of [
    [primary.pChainID, /^Not valid/],
    [primary.cChainID, /^Not valid/],
    [l1.blockchainID, 'Valid a destination accepts it'],
  ] as const) {
    await destination.fill(chain);
    await shown.heading(verdict).waitFor();
  }
});

test.each(['Control', 'Meta'])('%s and Enter sign', async (key) => {
  await shown.open();
  await shown.pasteNew();
  await shown.input.press(`${key}+Enter`);
  await shown.heading('Signed verified').waitFor();
  expect(await shown.table('Signed message').innerText()).toMatch(/^(0x)?[0-9a-f]+$/);
});

test('a P-Chain transaction is signed by its ID, and an unknown one is named', async () => {
  await shown.open({ fails: true });
  await shown.example('by transaction: ConvertSubnetToL1Tx');
  await shown.page.getByLabel('These 32 bytes are').waitFor();
  await shown.sign();
  const { txID } = readTransaction('SetL1ValidatorWeightTx_weight_node4');
  await shown.input.fill(txID);
  await shown.page.getByText(/^Signed is the message of the P-Chain about it/).waitFor();
  await shown.collect();
  await shown.page.getByText('unknown_transaction').waitFor();
  expect(await failureCard()).toContain(txID);
  await shown.page.getByRole('button', { name: 'Wait up to 30 s for it' }).click();
  await shown.page.getByText('Waiting for the transaction to be accepted and executed…').waitFor();
  // The button is gone; the focus is where the answer appears.
  const focused = shown.page.locator('.scroll-place:focus');
  await focused.getByRole('button', { name: 'Stop' }).press('Enter');
  await focused.getByRole('heading', { name: 'Stopped' }).waitFor();
});

test('an EVM transaction is signed by its hash and chain, and of several messages one is chosen', async () => {
  await shown.open({ fails: true });
  await shown.example('by EVM transaction: L1');
  expect(await shown.page.getByLabel('Chain of an EVM transaction').inputValue()).not.toBe('');
  await shown.sign();
  await shown.example('by EVM transaction: one of two messages');
  const pasted = await shown.input.inputValue();
  await shown.input.fill(pasted.replace(/\?.*$/, ''));
  await shown.page.getByLabel('Chain of an EVM transaction').fill('C');
  await shown.collect();
  await shown.page.getByText('several_messages').waitFor();
  await shown.page.getByRole('button', { name: 'Sign log 1' }).click();
  await shown.heading('Signed verified').waitFor();
  await shown.page.getByRole('tab', { name: 'curl' }).click();
  expect(await shown.page.getByRole('tabpanel').innerText()).toContain('?blockchainId=C&logIndex=1');
});

test('inspect says of a signed message that was changed what is wrong with it', async () => {
  await shown.open({ fails: true });
  const message = (await shown.pasteNew()).replace(/^0x/, '');
  await shown.sign();
  const hex = await shown.table('Signed message').innerText();
  await shown.goTo('Inspect');
  await shown.inspected.fill(hex);
  await shown.heading('Valid a destination accepts it').waitFor();
  // A letter of the text that was sent.
  const at = hex.indexOf(message) + message.length - 4;
  await shown.inspected.fill(`${hex.slice(0, at)}${hex[at] === '3' ? '4' : '3'}${hex.slice(at + 1)}`);
  await shown.heading('Not valid wrong signature').waitFor();
  await shown.inspected.fill(hex);
  await shown.heading('Valid a destination accepts it').waitFor();
  await shown.page.getByRole('spinbutton', { name: 'Quorum in percent' }).fill('100');
  await shown.heading('Not valid insufficient weight').waitFor();
  expect(await failureCard()).toMatch(/What to do: Have it signed anew/);
});

/** How the console describes the messages captured on a real network. */
const DESCRIPTIONS: Readonly<Record<string, RegExp>> = {
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

test.each(readCases())('$name is described, and without its end is no message', async ({ name, ...captured }) => {
  await shown.open({ fails: true });
  const decoded = shown.page.locator('main .decoded').filter({ visible: true });
  const message = bytesToHex(captured.unsignedMessage);
  await shown.input.fill(message);
  await decoded.waitFor();
  expect(await decoded.innerText()).toMatch(DESCRIPTIONS[name] as RegExp);
  await shown.input.fill(message.slice(0, -2));
  await shown.page.getByRole('alert').getByText('as an unsigned message:').waitFor();
});
