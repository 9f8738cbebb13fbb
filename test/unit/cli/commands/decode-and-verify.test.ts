import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { presentReading } from '../../../../src/api/messages/message-records.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { encodeLogData } from '../../../../src/pchain/codec/send-warp-log.ts';
import { readWarpBytes } from '../../../../src/warp/reading.ts';
import { readCase, rpcResult } from '../../../vectors/vectors.ts';
import { exitCodeWithoutReader, runCommand, runHere, runOnTerminal } from '../run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'commands-'));
afterAll(() => rmSync(folder, { recursive: true }));

function writeText(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const { signed, unsignedMessage, rpc, effectiveSigningSubnet: subnetID } = readCase('c_warp_0');
const signedHex = bytesToHex(signed!.signedMessage);
const unsignedHex = bytesToHex(unsignedMessage);
const validators = rpcResult<object>(rpc, 'platform.getValidatorsAt', { subnetID });
const setFile = writeText('set.json', JSON.stringify(validators));
// In the lines of `xxd -p`.
const signedFile = writeText('signed.hex', `0x${signedHex.replaceAll(/.{60}/g, '$&\n')}\n`);

const UNSIGNED_TEXT = `unsigned message
  message ID            4oKrFeAsPACRypUNvDu7JHRGdxLmkpQGpqKdcSaUVD2R2TUFp
  network ID            12345
  source blockchain ID  2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC
  payload
    kind            AddressedCall
    source address  8db97c7cece249c2b98bdc0226cc4c2a57bf52fc
    payload         68656c6c6f2066726f6d20432030  "hello from C 0"
`;

describe('decode', () => {
  test('prints the decoded data, or the JSON of the service', async () => {
    expect(await runHere('decode', unsignedHex)).toEqual({ code: 0, out: UNSIGNED_TEXT, err: '' });
    const { code, out, err } = await runHere('decode', '--json', '--file', signedFile);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const { readings } = readWarpBytes(signed!.signedMessage);
    expect(JSON.parse(out)).toEqual({ readings: readings.map(presentReading) });
  });

  test('prints the message in the data of a SendWarpMessage log', async () => {
    const { code, out, err } = await runHere('decode', encodeLogData(unsignedHex));
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^unsigned message, from the data of a SendWarpMessage log\n {2}message ID /);
    expect(out).toContain(unsignedHex);
    const json = await runHere('decode', '--json', encodeLogData(unsignedHex));
    expect(JSON.parse(json.out)).toMatchObject({ logMessage: unsignedHex, readings: [{ as: 'unsignedMessage' }] });
  });

  test.each([
    [['xyz'], 'the argument must be hex digits, with an optional 0x prefix'],
    [['0X00'], 'the argument starts with 0X'],
    [['ffff'], 'the data has no known form:\n  as signed message: signed message: '],
    [['0000', '--as', 'payload'], 'the data cannot be read as payload: Warp payload: too short'],
    [['00', '--as', 'novel'], "option '--as <form>' argument 'novel' is invalid. Allowed choices are signedMessage, "],
    [['00', '--file', 'x'], 'give the data as an argument or by --file, not both'],
    [['--file', '/does/not/exist'], '/does/not/exist cannot be read: there is no such file'],
    [['00', '11'], "too many arguments for 'decode'"],
  ])('%j fails with exit code 2', async (args, expected) => {
    expect(await runHere('decode', ...args)).toEqual({ code: 2, out: '', err: expect.stringContaining(expected) });
  });
});

describe('verify', () => {
  const verify = (...args: string[]) => runHere('verify', '--set', setFile, ...args);

  test('reports a valid message and its signers', async () => {
    const { code, out, err } = await verify('--file', signedFile);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(`valid
signed by 80.0 % of the weight (8000000000000000 of 10000000000000000); the quorum of 67 % is 6700000000000000
${UNSIGNED_TEXT.split('\n').slice(1, -1).join('\n')}
  bit            weight  signer
    0  2000000000000000  NodeID-P7oB2McjBGgW2NXXWVYjV8JEDFoW9xDE5
    2  2000000000000000  NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN
    3  2000000000000000  NodeID-GWPcbFJZFfZreETSoWjPimr846mXEKCtu
    4  2000000000000000  NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg
`);
  });

  test('reports the first failed check of a destination with exit code 1', async () => {
    const tooFew = await verify('--quorum', '81', signedHex);
    expect(tooFew).toMatchObject({ code: 1, err: '' });
    expect(tooFew.out).toMatch(
      /^not valid: signature weight is insufficient: 81\*10000000000000000 > 100\*8000000000000000\nnames 80\.0 % /,
    );
    const changed = await verify(
      '--json',
      signedHex.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    );
    expect(changed).toMatchObject({ code: 1, err: '' });
    expect(JSON.parse(changed.out)).toMatchObject({ isValid: false, problem: { kind: 'wrong signature' } });
    const foreign = await verify('--network-id', '1', signedHex);
    expect(foreign).toMatchObject({ code: 1 });
    expect(foreign.out).toMatch(/^not valid: its network ID is 12345, and that of the network is 1\n/);
  });

  test('reads files with a byte order mark', async () => {
    const set = writeText('marked-set.json', `\ufeff${JSON.stringify(validators)}`);
    const message = writeText('marked.hex', `\ufeff${signedHex}\r\n`);
    expect(await runHere('verify', '--set', set, '--file', message)).toMatchObject({ code: 0, err: '' });
  });

  const node = { nodeId: 'NodeID-P7oB2McjBGgW2NXXWVYjV8JEDFoW9xDE5' };
  const one = { index: 0, status: 'signable', weight: '5', publicKey: '00'.repeat(48), nodes: [node] };
  const view = { subnetId: subnetID, pChainHeight: 1, totalWeight: '9', withoutKey: { weight: '1', count: 1 } };
  const part = writeText('part.json', JSON.stringify({ ...view, validators: [one] }));
  const set = ['--set', setFile];
  test.each([
    [signedHex, [], 'the validators are missing: give their set by --set FILE, or a P-Chain API by --p-chain URL'],
    [signedHex, [...set, '--height', '7'], '--subnet, --height and --destination choose a set with --p-chain'],
    [signedHex, [...set, '--quorum', '101'], 'It must be a whole number from 0 to 100.'],
    [signedHex, [...set, '--p-chain', 'http://x'], 'give one of them'],
    [signedHex, ['--p-chain', 'http://x', '--network-id', '1'], '--network-id is for --set'],
    [signedHex, ['--p-chain', 'api.avax.network'], "--p-chain must be the address of a node's API"],
    [signedHex, ['--p-chain', 'ftp://me:secret@x'], 'such as https://api.avax.network, is ftp://***@x'],
    [signedHex, ['--p-chain', 'http://x', '--timeout', '0'], 'It must be a whole number from 1 to 86400.'],
    [unsignedHex, set, 'not a signed message: the message is not signed: it is an unsigned message'],
    [signedHex.slice(2), set, 'not a signed message: signed message '],
    [signedHex, ['--set', folder], ' cannot be read: it is a folder'],
    [signedHex, ['--set', signedFile], 'signed.hex is no validator set: the file: is not JSON. Give what '],
    [signedHex, ['--set', writeText('empty.json', '{}')], 'is no validator set: the file: has no validators'],
    [signedHex, ['--set', part], 'weigh 6 of 9: it is not the whole set'],
  ])('what cannot be verified fails with exit code 2: %#', async (message, args, expected) => {
    expect(await runHere('verify', message, ...args)).toEqual({
      code: 2,
      out: '',
      err: expect.stringContaining(expected),
    });
  });

  test('an unreachable API fails with exit code 3', async () => {
    expect(await runHere('verify', signedHex, '--p-chain', 'http://127.0.0.1:1', '--timeout', '5')).toEqual({
      code: 3,
      out: '',
      err: expect.stringMatching(/^the P-Chain API could not be asked: .*ECONNREFUSED.*\n$/),
    });
  });
});

describe.concurrent('a process', { timeout: 120_000 }, () => {
  test('reads standard input, for the argument - or none, and has no colours in a pipe', async () => {
    const expected = { code: 0, out: UNSIGNED_TEXT, err: '' };
    expect(await runCommand(['decode'], { input: `0x${unsignedHex}\n` })).toEqual(expected);
    expect(await runCommand(['decode', '-'], { input: unsignedHex })).toEqual(expected);
    const err = 'standard input is empty: give the data in hex\n';
    expect(await runCommand(['decode'], { input: '' })).toEqual({ code: 2, out: '', err });
  });

  test('has colours on a terminal, unless NO_COLOR is set, and does not wait for input', async () => {
    const coloured = await runOnTerminal(['decode', unsignedHex]);
    expect(coloured.out).toContain('\u001b[1munsigned message\u001b[22m');
    const plain = await runOnTerminal(['decode', unsignedHex], { NO_COLOR: '1' });
    expect(plain).toMatchObject({ code: 0, out: UNSIGNED_TEXT.replaceAll('\n', '\r\n') });
    expect(await runOnTerminal(['decode'])).toMatchObject({
      code: 2,
      out: 'the data is missing: give it as an argument, by --file FILE, or on standard input\r\n',
    });
  });

  test('keeps its exit code if the reader leaves, such as `grep -q`', async () => {
    const args = ['verify', '--set', setFile, '--file', signedFile, '--quorum', '81'];
    expect(await exitCodeWithoutReader(args, 'stdout')).toBe(1);
    expect(await exitCodeWithoutReader(['verify', '--set', setFile, 'zz'], 'stderr')).toBe(2);
  });

  test.runIf(process.platform === 'linux')('reports a full disk with exit code 3', async () => {
    const full = await runCommand(['decode', unsignedHex], { stdout: openSync('/dev/full', 'w') });
    const err = 'standard output cannot be written: ENOSPC: no space left on device, write\n';
    expect(full).toMatchObject({ code: 3, err });
  });
});
