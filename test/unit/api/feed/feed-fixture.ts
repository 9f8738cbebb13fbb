import { onTestFinished } from 'vitest';
import type { Feed } from '../../../../src/feed/feed.ts';
import type { MessagePosition, MessageSignature } from '../../../../src/feed/feed-message.ts';
import { type MessageStore, openMessageStore } from '../../../../src/feed/message-store.ts';
import type { Network } from '../../../../src/network/network.ts';
import { PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { CHAIN, checkpoint, OTHER_CHAIN } from '../../feed/emitted.ts';
import { createTestServer, scriptedNetwork, type TestServerOptions } from '../api-fixture.ts';

export const MESSAGES_PATH = '/v1/signatureAggregator/fuji/messages';

export const SIGNATURE: MessageSignature = {
  signedMessage: Uint8Array.of(1, 2, 3),
  signingSubnetID: PRIMARY_NETWORK_ID,
  pChainHeight: 11n,
  signedWeight: 80n,
  totalWeight: 100n,
  signedMs: 7,
};
const FAILURE = { code: 'insufficient_weight', reason: 'too few signed', attempts: 1, failedMs: 5 };

/** A store with two chains, read up to block 9. */
export function createStore(): MessageStore {
  const store = openMessageStore({ directory: undefined, networkID: 1 });
  onTestFinished(() => store[Symbol.dispose]());
  for (const chainID of [CHAIN, OTHER_CHAIN]) store.addChain(chainID, checkpoint(9));
  return store;
}

export function sign(store: MessageStore, ...positions: readonly MessagePosition[]): void {
  for (const position of positions) store.setSigned(position, SIGNATURE);
}

export function fail(store: MessageStore, ...positions: readonly MessagePosition[]): void {
  for (const position of positions) store.setFailed(position, FAILURE, Number.MAX_SAFE_INTEGER);
}

interface FeedServerOptions extends TestServerOptions {
  readonly network?: Partial<Network>;
  readonly replay?: Feed['replay'];
  readonly forget?: Feed['forget'];
  readonly isStarting?: boolean;
  readonly watches?: Feed['watches'];
  readonly storeProblem?: string;
}

/** A server whose network has the feed with the store that `current` returns. */
export function createFeedServer(current: () => MessageStore | undefined, options: FeedServerOptions = {}) {
  const {
    network,
    replay = () => Promise.reject(new Error('no replay')),
    forget = () => Promise.reject(new Error('not forgotten')),
    isStarting = false,
    watches = () => false,
    storeProblem,
    ...rest
  } = options;
  const feed: Feed = {
    get messages() {
      return current();
    },
    chains: () => [],
    findCChain: async () => OTHER_CHAIN,
    watches,
    replay,
    forget,
    isStarting,
    storeProblem,
  };
  return createTestServer({ networks: [scriptedNetwork({ feed, ...network })], ...rest });
}
