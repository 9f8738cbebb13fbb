import { SubnetHistoryBody } from '../../api/subnets/history-records.ts';
import { presentSubnet, presentValidator, SubnetViewBody } from '../../api/subnets/subnet-records.ts';
import { type Clock, repeat, systemClock } from '../../lib/concurrency/clock.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID, parseHexOrCb58Id, type SubnetID } from '../../warp/ids.ts';
import { CommandFailure, EXIT, type ExitCode, usageFailure } from '../io/exit-codes.ts';
import type { ServiceClient } from '../io/service-client.ts';
import { formatTable, percentOf, print, printable, styled } from '../io/text.ts';
import { askSource, type OwnCall, type SourceOptions } from './source.ts';

export interface SubnetOptions extends SourceOptions {
  readonly watch?: boolean;
  readonly height?: number;
  readonly destination?: string;
  readonly history?: boolean;
  /** How far back, in milliseconds. */
  readonly since?: number;
}

/** Pause of `--watch`: the service reads its sets less often, and its connections change in seconds. */
const WATCH_PAUSE_MS = 5_000;
/** Moves to the first line, and clears what is below. */
const CLEAR_SCREEN = '\u001b[H\u001b[J';

/** Prints the validators of a subnet; with `watch` again and again. @throws {CommandFailure} */
export async function showSubnet(given: string | undefined, options: SubnetOptions): Promise<ExitCode> {
  const subnetID = given === undefined ? PRIMARY_NETWORK_ID : parseHexOrCb58Id<SubnetID>(given, 'the subnet');
  if (options.history === true) {
    const history = await readHistory(subnetID, options);
    print(options.json === true ? JSON.stringify(history, undefined, 2) : describeHistory(history));
    return EXIT.done;
  }
  const load = (): Promise<SubnetViewBody> =>
    askSource(options, {
      networkID: undefined,
      askService: (client) => askService(subnetID, options, client),
      prepareOwn: () => prepareOwn(subnetID, options),
    });
  if (options.watch === true) {
    if (options.config !== undefined) {
      throw usageFailure('--watch asks a running service again and again: give its --url in place of --config');
    }
    const show = (view: SubnetViewBody): void => {
      const text = `${new Date().toISOString()}  ${describe(view)}`;
      print(options.json === true ? JSON.stringify(view) : screenOf(text, process.stdout));
    };
    const report = ({ message }: CommandFailure): void => void process.stderr.write(`${message}\n`);
    await watch({ load, show, report, clock: systemClock });
  } else {
    const view = await load();
    print(options.json === true ? JSON.stringify(view, undefined, 2) : describe(view));
  }
  return EXIT.done;
}

export interface Watch {
  readonly load: () => Promise<SubnetViewBody>;
  readonly show: (view: SubnetViewBody) => void;
  readonly report: (failure: CommandFailure) => void;
  readonly clock: Clock;
}

/** Shows a view after the other, until SIGINT ends the process. Failures that may pass are reported. @throws {CommandFailure} for others */
export function watch({ load, show, report, clock }: Watch): Promise<void> {
  return repeat(clock, new AbortController().signal, async () => {
    try {
      show(await load());
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.exitCode !== EXIT.later) throw error;
      report(error);
    }
    return WATCH_PAUSE_MS;
  });
}

/** Returns what a terminal shows of a text: as many lines as it has. Other outputs get all, and an empty line. */
export function screenOf(text: string, { isTTY, rows }: Pick<NodeJS.WriteStream, 'isTTY' | 'rows'>): string {
  if (!isTTY) return `${text}\n`;
  const lines = text.split('\n');
  // The last line of the screen has the cursor.
  const shown = lines.slice(0, lines.length < rows ? lines.length : Math.max(1, rows - 2));
  const more = lines.length - shown.length;
  return CLEAR_SCREEN + [...shown, ...(more > 0 ? [`… ${more} more lines`] : [])].join('\n');
}

async function askService(
  subnetID: SubnetID,
  { network, height, destination }: SubnetOptions,
  client: ServiceClient,
): Promise<SubnetViewBody> {
  const path = `${await client.networkPath(network, undefined)}/subnets/${subnetID}`;
  return await readPages((query) => client.get(`${path}?${query}`, SubnetViewBody), {
    ...(height !== undefined && { pChainHeight: String(height) }),
    ...(destination !== undefined && { destinationBlockchainId: destination }),
  });
}

function prepareOwn(subnetID: SubnetID, { height, destination }: SubnetOptions): OwnCall<SubnetViewBody> {
  const destinationChainID =
    destination === undefined ? undefined : parseHexOrCb58Id<BlockchainID>(destination, '--destination');
  const pChainHeight = height === undefined ? undefined : BigInt(height);
  return async (network, signal) => {
    const view = await network.subnets.view({ subnetID, pChainHeight, destinationChainID }, signal);
    return { ...presentSubnet(view), validators: view.validators.map(presentValidator) };
  };
}

type ListedValidator = SubnetViewBody['validators'][number];

const COLOURS = { signable: 'green', doubtful: 'yellow', unreachable: 'red', inactive: 'dim' } as const;

function describe(view: SubnetViewBody): string {
  const total = BigInt(view.totalWeight);
  const share = (weight: string): string => percentOf(BigInt(weight), total);
  const { validators, withoutKey } = view;
  const header = ['STATUS', 'WEIGHT', 'NODE', 'VERSION', 'MEDIAN', 'WHY'];
  const rows = validators.flatMap((validator) => rowsOf(validator, share(validator.weight)));
  const [titles = '', ...lines] = formatTable([header, ...rows], new Set([1, 4]));
  return [
    `subnet ${printable(view.subnetId)} at P-Chain height ${view.pChainHeight}`,
    `${validators.length} validators; ${share(view.connectedWeight)} of the weight is connected, ${share(view.signableWeight)} can sign`,
    `highest quorum that can be signed now: ${view.highestQuorum} %`,
    ...(withoutKey.count > 0
      ? [`${share(withoutKey.weight)} of the weight cannot sign: ${withoutKey.count} without a key, or inactive`]
      : []),
    '',
    styled('dim', titles),
    ...lines,
  ].join('\n');
}

/** Returns a row for each node: any of them can sign for the whole weight. */
function rowsOf({ status, reason, nodes }: ListedValidator, share: string): string[][] {
  return nodes.map(({ nodeId, version, latency, obstacle }, index) => [
    index === 0 ? styled(COLOURS[status], status) : '',
    index === 0 ? share : '',
    printable(nodeId),
    printable(version ?? ''),
    latency === undefined ? '' : `${latency.medianMs} ms`,
    printable(obstacle?.reason ?? (index === 0 ? (reason ?? '') : '')),
  ]);
}

const PAGE_SIZE = 1_000;
/** Bounds the requests to a faulty service: 100,000 validators are ten times what the network is planned for. */
const MAX_PAGES = 100;

interface Page {
  readonly validators: readonly unknown[];
  readonly nextPageToken?: string;
}

/** Reads all pages, and returns the first one with the validators of all. @throws {CommandFailure} */
async function readPages<Body extends Page>(
  read: (query: string) => Promise<Body>,
  first: Readonly<Record<string, string>>,
): Promise<Body> {
  const page = (query: Readonly<Record<string, string>>): Promise<Body> =>
    read(new URLSearchParams({ ...query, pageSize: String(PAGE_SIZE) }).toString());
  const { nextPageToken, ...view } = await page(first);
  const validators = [...view.validators];
  let token = nextPageToken;
  for (let pages = 1; token !== undefined; pages += 1) {
    if (pages === MAX_PAGES)
      throw usageFailure(`the service has more than ${MAX_PAGES} pages of validators; check --url`);
    const next = await page({ pageToken: token });
    validators.push(...next.validators);
    token = next.nextPageToken;
  }
  return { ...view, validators } as unknown as Body;
}

/** Reads the record of a subnet's validators. @throws {CommandFailure} */
function readHistory(subnetID: SubnetID, options: SubnetOptions): Promise<SubnetHistoryBody> {
  const { network, since } = options;
  return askSource(options, {
    networkID: undefined,
    async askService(client) {
      const path = `${await client.networkPath(network, undefined)}/subnets/${subnetID}/history`;
      return await readPages((query) => client.get(`${path}?${query}`, SubnetHistoryBody), {
        ...(since !== undefined && { since: String(systemClock.now() - since) }),
      });
    },
    prepareOwn() {
      throw new Error('the record is that of a running service');
    },
  });
}

type RecordedValidator = SubnetHistoryBody['validators'][number];

/** From this share on a validator is good, and below the other it breaks the quorum. */
const GOOD_SHARE = 0.99;
const BAD_SHARE = 0.67;

function describeHistory({ subnetId, since, totalWeight, hours, validators }: SubnetHistoryBody): string {
  const total = BigInt(totalWeight);
  const worst = hours.toSorted((a, b) => (BigInt(a.signingWeight) < BigInt(b.signingWeight) ? -1 : 1))[0];
  const header = [
    'SIGNED',
    'ASKED',
    'REFUSED',
    'TIMED OUT',
    'UNREACHABLE',
    'INVALID',
    'NOT ASKED',
    'MEDIAN',
    'P95',
    'CONNECTED',
    'WEIGHT',
    'NODE',
  ];
  const right = new Set(header.keys());
  right.delete(header.length - 1);
  const rows = validators.map((validator) => rowOf(validator, total));
  const [titles = '', ...lines] = formatTable([header, ...rows], right);
  return [
    `subnet ${printable(subnetId)} since ${timeOf(since)}: what each validator did in the collections of this replica that ended signed`,
    ...(worst === undefined
      ? []
      : [`worst hour: ${timeOf(worst.start)}, ${percentOf(BigInt(worst.signingWeight), total)} of the weight signed`]),
    '',
    styled('dim', titles),
    ...lines,
  ].join('\n');
}

function rowOf(validator: RecordedValidator, total: bigint): string[] {
  const { signedShare: share, asked, refused, timedOut, unreachable, invalidSignature, notAsked } = validator;
  const { medianMs, p95Ms, connectedShare, weight, nodeIds } = validator;
  const colour = share === undefined ? 'dim' : share >= GOOD_SHARE ? 'green' : share >= BAD_SHARE ? 'yellow' : 'red';
  const counts = [asked, refused, timedOut, unreachable, invalidSignature, notAsked].map(String);
  const times = [medianMs, p95Ms].map((ms) => (ms === undefined ? '' : `${Math.round(ms)} ms`));
  const node = nodeIds.length > 1 ? `${nodeIds[0]} and ${nodeIds.length - 1} more` : (nodeIds[0] ?? '');
  return [
    styled(colour, shareText(share) ?? 'not asked'),
    ...counts,
    ...times,
    shareText(connectedShare) ?? '',
    percentOf(BigInt(weight), total),
    printable(node),
  ];
}

/** Rounds down: 99.99 % must not appear as 100 %. */
function shareText(share: number | undefined): string | undefined {
  return share === undefined ? undefined : `${(Math.floor(share * 1_000) / 10).toFixed(1)} %`;
}

function timeOf(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
