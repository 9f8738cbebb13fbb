import type { FeedMessageRecord } from '../../../api/feed/feed-records.ts';
import type { RequestRecord } from '../../../api/requests/request-record.ts';
import { keyOf, messageIdOf } from '../activity/find-requests.ts';
import { type ConsoleApi, failureOf } from '../console-api.ts';
import type { NameOf } from '../session.ts';
import { dayTime, shortened } from '../ui/figures.ts';
import { hexOfId } from '../ui/hex.ts';
import { type Subject, subjectsOf } from './subjects.ts';

/** A place in the console that has what was looked for. */
export interface FoundPlace {
  /** Address after the page's. */
  readonly hash: string;
  readonly name: string;
  readonly note: string;
}

interface Asked {
  readonly api: ConsoleApi;
  readonly network: string;
  readonly nameOf: NameOf;
  readonly signal: AbortSignal;
}

/** Requests that are counted. */
const COUNTED = 100;

/** Finds the places of all that a text may name: requests, messages, subnets, chains and validators. */
export async function findPlaces(text: string, asked: Asked): Promise<readonly FoundPlace[]> {
  const found = await Promise.all(subjectsOf(text).map((subject) => placesOf(subject, asked)));
  return [...new Map(found.flat().map((place) => [place.hash, place])).values()];
}

async function placesOf(subject: Subject, asked: Asked): Promise<readonly FoundPlace[]> {
  const { api, network, signal } = asked;
  switch (subject.kind) {
    case 'place':
      return [{ hash: subject.hash, name: 'A place in the console', note: '' }];
    case 'request': {
      const request = await unlessRefused(api.request(subject.id, signal));
      return request === undefined ? [] : [placeOfRequest(request)];
    }
    case 'bytes': {
      const messageId = await unlessRefused(messageIdOf(api, network, subject.hex, signal));
      return messageId === undefined ? [] : placesOfId(messageId, asked);
    }
    case 'id':
      return placesOfId(subject.id, asked);
    case 'sender':
      return placesOfMessages(
        { sender: subject.address },
        `Messages of the sender ${shortened(subject.address)}`,
        asked,
      );
    case 'node':
      return placesOfNode(subject.nodeId, asked);
    case 'client': {
      const { client } = subject;
      return placesOfRequests([{ client }], client, `Requests of the client ${client.replace(/^\w+:/, '')}`, asked);
    }
  }
}

/** Places of 32 bytes, whatever they are the ID of. */
async function placesOfId(id: string, asked: Asked): Promise<readonly FoundPlace[]> {
  const { nameOf } = asked;
  const requests = [{ messageId: id }, { transaction: id }];
  const chain = nameOf(id, 'chain') ?? shortened(id);
  const found = await Promise.all([
    placesOfMessage(id, asked),
    placesOfRequests(requests, id, 'Requests for it', asked),
    placesOfSubnet(id, asked),
    placesOfMessages({ sourceBlockchainId: id }, `Messages of the chain ${chain}`, asked),
    placesOfValidation(id, asked),
  ]);
  return found.flat();
}

async function placesOfMessage(id: string, { api, network, signal }: Asked): Promise<readonly FoundPlace[]> {
  try {
    return [placeOfMessage(await api.message(network, id, signal))];
  } catch (error) {
    signal.throwIfAborted();
    const { messages = [] } = failureOf(error);
    return messages.map(({ messageId, logIndex }) => ({
      hash: `#/messages/${encodeURIComponent(messageId)}`,
      name: `Message ${shortened(messageId)}`,
      note: `log ${logIndex} of the transaction`,
    }));
  }
}

function placeOfMessage({ messageId, status, blockTime }: FeedMessageRecord): FoundPlace {
  const name = `Message ${shortened(messageId)}`;
  return { hash: `#/messages/${encodeURIComponent(messageId)}`, name, note: `${status}, of ${dayTime(blockTime)}` };
}

function placeOfRequest({ id, outcome, endedAt }: RequestRecord): FoundPlace {
  const hash = `#/activity/${encodeURIComponent(id)}`;
  return { hash, name: `Request ${shortened(id)}`, note: `${outcome}, ${dayTime(endedAt)}` };
}

async function placesOfRequests(
  filters: readonly Readonly<Record<string, string>>[],
  search: string,
  name: string,
  { api, signal }: Asked,
): Promise<readonly FoundPlace[]> {
  const lists = await Promise.all(
    filters.map((filter) => unlessRefused(api.requests({ ...filter, limit: COUNTED }, signal))),
  );
  const requests = [...new Map(lists.flatMap((list) => list ?? []).map((one) => [keyOf(one), one])).values()];
  const [first] = requests;
  if (first === undefined) return [];
  if (requests.length === 1) return [placeOfRequest(first)];
  const note = `${requests.length < COUNTED ? requests.length : `${COUNTED} or more`}`;
  return [{ hash: `#/activity?search=${encodeURIComponent(search)}`, name, note }];
}

async function placesOfSubnet(id: string, { api, network, nameOf, signal }: Asked): Promise<readonly FoundPlace[]> {
  const subnets = (await unlessRefused(api.of(network).subnets({ signal }))) ?? [];
  const subnet = subnets.find(({ subnetId }) => hexOfId(subnetId) === hexOfId(id));
  if (subnet === undefined) return [];
  const { subnetId } = subnet;
  return [
    { hash: `#/subnets/${subnetId}`, name: `Subnet ${nameOf(subnetId, 'subnet') ?? shortened(subnetId)}`, note: '' },
  ];
}

/** The list of messages with a filter, if it has any. */
async function placesOfMessages(
  filter: Readonly<Record<string, string>>,
  name: string,
  { api, network, signal }: Asked,
): Promise<readonly FoundPlace[]> {
  const page = await unlessRefused(api.messages(network, { ...filter, before: 'recent', limit: 1 }, signal));
  const [last] = page?.messages ?? [];
  if (last === undefined) return [];
  return [{ hash: `#/messages?${new URLSearchParams(filter)}`, name, note: `the last of ${dayTime(last.blockTime)}` }];
}

async function placesOfValidation(id: string, { api, network, signal }: Asked): Promise<readonly FoundPlace[]> {
  const found = await unlessRefused(api.of(network).validation(id, { signal }));
  if (found === undefined || found.subnetId === null) return [];
  const { subnetId, nodeId, state, next } = found;
  return [{ hash: subnetHash(subnetId, nodeId ?? ''), name: `L1 validation, ${state}`, note: next }];
}

async function placesOfNode(nodeId: string, { api, network, nameOf, signal }: Asked): Promise<readonly FoundPlace[]> {
  const subnets = (await unlessRefused(api.of(network).subnets({ signal }))) ?? [];
  return subnets.map(({ subnetId }) => ({
    hash: subnetHash(subnetId, nodeId),
    name: `Validators of ${nameOf(subnetId, 'subnet') ?? shortened(subnetId)}`,
    note: 'with this NodeID, if there is one',
  }));
}

function subnetHash(subnetId: string, nodeId: string): string {
  return `#/subnets/${subnetId}${nodeId === '' ? '' : `?find=${encodeURIComponent(nodeId)}`}`;
}

/** Undefined if the service has none, or does not show it to this visitor. */
async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const { statusCode } = failureOf(error);
    if (statusCode !== undefined && statusCode < 500 && statusCode !== 429) return undefined;
    throw error;
  }
}
