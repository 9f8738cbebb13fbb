import { expect, test } from 'vitest';
import { findObstacle, OBSTACLE_CAUSES, type ObstacleFacts } from '../../../src/p2p/peer-view.ts';

/** A wanted node before its dial. */
const WAITING: ObstacleFacts = {
  ...{ isReady: false, isSelf: false, lastEnd: undefined, isOpen: false, isKnown: true, mayBeDialled: true },
  ...{ version: { current: { major: 1, minor: 14, patch: 2 }, failure: undefined }, isFull: false },
};
const END = { cause: 'tls', reason: 'TLS failed: bad certificate' } as const;

test.each<[string, Partial<ObstacleFacts>, string | undefined, string?]>([
  ['that is connected, whatever was before', { isReady: true, isOpen: true, lastEnd: END }, undefined],
  ['that is ourselves', { isSelf: true, isKnown: false }, 'own_node'],
  ['whose last connection failed, also while it is dialled again', { lastEnd: END, isOpen: true }, 'tls', END.reason],
  ['that is dialled for the first time', { isOpen: true }, 'connecting', 'still connecting'],
  ['that nobody has an address of', { isKnown: false, mayBeDialled: false }, 'no_address', 'no address known'],
  ['whose address is private', { mayBeDialled: false }, 'private_address'],
  [
    'while no version is known',
    { version: { current: undefined, failure: 'HTTP 502' } },
    'version_unknown',
    'the node version of the network is not known: HTTP 502',
  ],
  ['while there is no room', { isFull: true }, 'no_room', 'too many connections'],
  ['whose turn comes', {}, 'connecting', 'not dialled yet'],
])('a node %s', (_, facts, cause, reason) => {
  const obstacle = findObstacle({ ...WAITING, ...facts });
  expect(obstacle?.cause).toBe(cause);
  if (cause !== undefined) expect(OBSTACLE_CAUSES).toContain(cause);
  if (reason !== undefined) expect(obstacle?.reason).toBe(reason);
});
