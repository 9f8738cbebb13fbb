import { expect, it } from 'vitest';
import { stagesOf } from '../../../../src/cli/probes/validator-report.ts';
import { OBSTACLE_CAUSES, type ObstacleCause } from '../../../../src/p2p/peer-view.ts';

const TIMES = { tcp: 1, tls: 2, handshake: 3 };
const outcomes = (cause: ObstacleCause | undefined): string =>
  Object.values(stagesOf(cause, TIMES))
    .map(({ outcome }) => outcome)
    .join(' ');

it('a connected node has passed all stages, with their times', () => {
  expect(stagesOf(undefined, TIMES)).toEqual({
    tcp: { outcome: 'ok', durationMs: 1 },
    tls: { outcome: 'ok', durationMs: 2 },
    handshake: { outcome: 'ok', durationMs: 3 },
  });
});

it('a peer that closes after TLS or after its handshake has answered TCP and TLS', () => {
  for (const cause of ['lost', 'silent', 'not_admitted', 'protocol', 'flood'] as const) {
    expect(stagesOf(cause, TIMES), cause).toEqual({
      tcp: { outcome: 'ok', durationMs: 1 },
      tls: { outcome: 'ok', durationMs: 2 },
      handshake: { outcome: 'failed' },
    });
  }
});

it('each cause has failed at one stage, or came before the first', () => {
  const byOutcomes = Map.groupBy(OBSTACLE_CAUSES, outcomes);
  expect(Object.fromEntries(byOutcomes)).toEqual({
    'failed not_reached not_reached': expect.arrayContaining(['tcp_refused', 'unreachable', 'no_files']),
    'ok failed not_reached': expect.arrayContaining(['tls', 'wrong_node']),
    'ok ok failed': expect.arrayContaining(['clock', 'handshake', 'lost', 'not_admitted', 'other_network', 'version']),
    'not_reached not_reached not_reached': expect.arrayContaining(['connecting', 'no_address', 'private_address']),
  });
});
