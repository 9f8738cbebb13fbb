import * as blst from '@chainsafe/blst';
import { describe, expect, test } from 'vitest';
import { BACKEND_NAMES, loadBackend } from '../../../../src/bls/backends/load-backend.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { createInlineBls } from '../service/inline-bls.ts';

const MESSAGE = new TextEncoder().encode('a message');
const secrets = [1, 2, 3].map((byte) => blst.SecretKey.fromKeygen(new Uint8Array(32).fill(byte)));
const signers = secrets.map((secret, index) => {
  const publicKey = secret.toPublicKey().toBytes();
  return { index, publicKey, publicKeyHex: bytesToHex(publicKey) };
});
const signature = blst.aggregateSignatures(secrets.map((secret) => secret.sign(MESSAGE))).toBytes();
const never = new AbortController().signal;
const backends = await Promise.all(BACKEND_NAMES.map(loadBackend));

describe.each(backends)('with the backend $name, what others have signed', (backend) => {
  const bls = createInlineBls(backend);
  const verdict = (change: object = {}) => bls.verifySigned({ signers, message: MESSAGE, signature, ...change }, never);

  test('is valid for just these signers and this message', async () => {
    expect(await verdict()).toBe('valid');
    expect(await verdict({ signers: signers.slice(1) })).toBe('wrong signature');
    expect(await verdict({ message: Uint8Array.of(1) })).toBe('wrong signature');
    expect(await verdict({ signature: secrets[0]?.sign(MESSAGE).toBytes() })).toBe('wrong signature');
  });

  test('is malformed where it is no point', async () => {
    expect(await verdict({ signature: new Uint8Array(96).fill(7) })).toBe('malformed signature');
    expect(await verdict({ signature: Uint8Array.of(0xc0, ...new Uint8Array(95)) })).toBe('malformed signature');
  });

  test('is not looked at for whoever has left', async () => {
    const gone = new AbortController();
    const asked = bls.verifySigned({ signers, message: MESSAGE, signature }, gone.signal);
    gone.abort(new Error('gone'));
    await expect(bls.verifySigned({ signers, message: MESSAGE, signature }, gone.signal)).rejects.toThrow('gone');
    await asked.catch((error: unknown) => expect(error).toBe(gone.signal.reason));
  });
});
