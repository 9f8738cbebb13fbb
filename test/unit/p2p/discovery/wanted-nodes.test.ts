import { expect, it } from 'vitest';
import { createWantedNodes } from '../../../../src/p2p/discovery/wanted-nodes.ts';
import type { NodeID } from '../../../../src/warp/ids.ts';

const node = (name: string): NodeID => `NodeID-${name}` as NodeID;
const setOf = (names: string): Set<NodeID> => new Set([...names].map(node));
const nothing = { added: [], removed: [] };

it('is the union of all sets without our NodeID, and reports changes', () => {
  const wanted = createWantedNodes(node('z'));
  expect(wanted.set('primary', setOf('abz'))).toEqual({ added: [node('a'), node('b')], removed: [] });
  expect(wanted.set('l1', setOf('bc'))).toEqual({ added: [node('c')], removed: [] });
  expect(wanted.all).toEqual(setOf('abc'));
  expect(wanted.set('l1', setOf('cd'))).toEqual({ added: [node('d')], removed: [] });
  expect(wanted.set('primary', setOf('a'))).toEqual({ added: [], removed: [node('b')] });
  expect(wanted.set('primary', setOf('az'))).toEqual(nothing);
  expect(wanted.delete('unknown')).toEqual(nothing);
  expect(wanted.delete('l1')).toEqual({ added: [], removed: [node('c'), node('d')] });
  expect(wanted.all).toEqual(setOf('a'));
});

it('copies the given set', () => {
  const wanted = createWantedNodes(node('z'));
  const given = setOf('ab');
  wanted.set('l1', given);
  given.add(node('c'));
  expect(wanted.set('primary', setOf('a'))).toEqual(nothing);
  expect(wanted.all).toEqual(setOf('ab'));
});

it('reports nodes in preferred sets', () => {
  const wanted = createWantedNodes(node('z'));
  wanted.set('own', setOf('abz'), true);
  wanted.set('strange', setOf('bc'));
  expect(wanted.preferred).toEqual(setOf('ab'));
  expect(wanted.set('strange', setOf('bc'), true)).toEqual(nothing);
  expect(wanted.preferred).toEqual(setOf('abc'));
  wanted.delete('own');
  expect(wanted.preferred).toEqual(setOf('bc'));
  wanted.set('strange', setOf('bc'));
  expect(wanted.preferred).toEqual(new Set());
});
