import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { parseHandshake } from '../../../../src/p2p/connection/handshake.ts';
import { OwnHandshake } from '../../../../src/p2p/connection/own-handshake.ts';
import { type Handshake, HandshakeSchema } from '../../../../src/p2p/gen/p2p_pb.js';
import { createIdentity } from '../../../../src/p2p/identity/identity.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const NETWORK_ID = 5;
const HOUR_MS = 3_600_000;

/** A clock that can be set, as by the time service of a machine. */
class SettableClock extends FakeClock {
  aheadMs = 0;

  override now(): number {
    return super.now() + this.aheadMs;
  }
}

const clock = new SettableClock();
const identity = createIdentity();

function handshakeOf(own: OwnHandshake): Handshake {
  const message = own.create(
    { major: 1, minor: 14, patch: 2 },
    { filter: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0, 0), salt: new Uint8Array(32) },
  );
  if (message.case !== 'handshake') throw new Error(`made a ${message.case}`);
  return create(HandshakeSchema, message.value);
}

test('the address is signed once, and again where the clock was ahead and has been set back', async () => {
  clock.aheadMs = HOUR_MS;
  const own = new OwnHandshake({ identity, networkID: NETWORK_ID, clock });
  const first = handshakeOf(own);
  await clock.advance(1_000);
  expect(handshakeOf(own).ipNodeIdSig).toBe(first.ipNodeIdSig);

  clock.aheadMs = 0;
  const nowMs = clock.now();
  // A node whose clock has been right all the time.
  const expected = { networkID: NETWORK_ID, nowMs, certificate: identity.certificate };
  const again = handshakeOf(own);
  expect(parseHandshake(again, expected).address.timestamp).toBe(BigInt(nowMs / 1_000));
  expect(handshakeOf(own).ipNodeIdSig).toBe(again.ipNodeIdSig);
});
