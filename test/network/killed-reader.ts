import { createClient } from '../../src/client/client.ts';
import type { FeedMessage } from '../../src/client/gen/api.ts';

/** A message as it arrived at the reader. */
export interface Delivery {
  readonly message: FeedMessage;
  /** Number of the connection. The client opens further ones itself when the service ends. */
  readonly connection: number;
  /** In Unix milliseconds. */
  readonly atMs: number;
}

export interface KilledReaderOptions {
  readonly baseUrl: string;
  readonly network: string;
  /** How often the reader is killed. */
  readonly kills: number;
  /** Number of signed messages between two kills. */
  readonly killEvery: number;
  /** Number of signed messages after which it ends. */
  readonly until: number;
  readonly timeoutMs: number;
}

/**
 * Reads the feed by the client, as a program that stores the cursor of each message when it has processed the message. A kill ends the connection,
 * and finds the last message unprocessed: the next life of the reader goes on before it.
 */
export async function readThroughKills(options: KilledReaderOptions): Promise<readonly Delivery[]> {
  const { baseUrl, network, kills, killEvery, until, timeoutMs } = options;
  const deliveries: Delivery[] = [];
  const signed = new Set<string>();
  let connection = 0;
  const client = createClient({
    baseUrl,
    network,
    fetch: (...call) => {
      connection += 1;
      return fetch(...call);
    },
  });
  const deadline = AbortSignal.timeout(timeoutMs);
  let after: string | undefined;
  for (let life = 0; !deadline.aborted && signed.size < until; life += 1) {
    const ending = new AbortController();
    const end = life < kills ? killEvery * (life + 1) : until;
    let last = after;
    const query = { ...(after !== undefined && { after }), signal: AbortSignal.any([deadline, ending.signal]) };
    for await (const { message, cursor } of client.messages(query)) {
      deliveries.push({ message, connection, atMs: Date.now() });
      if (message.status === 'signed') signed.add(message.messageId);
      [after, last] = [last, cursor];
      if (signed.size >= end) ending.abort();
    }
  }
  return deliveries;
}

/** Returns the first delivery of each message, in their order. */
export function firstOfEach(deliveries: readonly Delivery[]): readonly Delivery[] {
  const seen = new Set<string>();
  return deliveries.filter(({ message: { messageId } }) => !seen.has(messageId) && seen.add(messageId));
}

/** Returns deliveries that the connection had brought before, with the same message and status. */
export function repeatedOnConnection(deliveries: readonly Delivery[]): readonly Delivery[] {
  const seen = new Set<string>();
  return deliveries.filter(({ connection, message: { messageId, status } }) => {
    const key = `${connection} ${messageId} ${status}`;
    return seen.has(key) || !seen.add(key);
  });
}

/** Returns deliveries that an earlier connection had brought, though this one had gone on to new messages of the chain. */
export function lateDuplicates(deliveries: readonly Delivery[]): readonly Delivery[] {
  const messages = new Set<string>();
  const pairs = new Set<string>();
  const chainsWithNew = new Set<string>();
  return deliveries.filter(({ connection, message: { messageId, status, sourceBlockchainId } }) => {
    const [pair, chain] = [`${messageId} ${status}`, `${connection} ${sourceBlockchainId}`];
    const isLate = pairs.has(pair) && chainsWithNew.has(chain);
    if (!messages.has(messageId)) chainsWithNew.add(chain);
    messages.add(messageId);
    pairs.add(pair);
    return isLate;
  });
}
