import { AggregatorError } from '../../aggregation/aggregator-error.ts';
import { presentSubnet, presentValidator, SubnetViewBody } from '../../api/subnets/subnet-records.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID, parseHexOrCb58Id, type SubnetID } from '../../warp/ids.ts';
import { EXIT, type ExitCode, usageFailure } from '../exit-codes.ts';
import { describingFailures } from '../io/failures.ts';
import { ProgressBar } from '../io/progress-bar.ts';
import { ServiceClient } from '../io/service-client.ts';
import { refusalOf, ServiceRefusal } from '../io/service-refusal.ts';
import type { SourceOptions } from '../io/source.ts';
import { formatTable, percentOf, printable, styled } from '../io/text.ts';

export interface SubnetOptions extends SourceOptions {
  readonly height?: number;
  readonly destination?: string;
  readonly json?: boolean;
}

/** What a service has on one page at most. */
const PAGE_SIZE = 1_000;
/** A service that never comes to an end is not followed: 100,000 validators are ten times what the network is planned for. */
const MAX_PAGES = 100;

/** Prints the validators of a subnet. @throws {CommandFailure} */
export async function showSubnet(given: string | undefined, options: SubnetOptions): Promise<ExitCode> {
  let view: SubnetViewBody;
  try {
    using bar = new ProgressBar();
    view = await describingFailures(() => {
      const subnetID = given === undefined ? PRIMARY_NETWORK_ID : parseHexOrCb58Id<SubnetID>(given, 'the subnet');
      return options.config === undefined
        ? askService(subnetID, options, bar)
        : lookHere(subnetID, options.config, options, bar);
    });
  } catch (error) {
    if (options.json === true && error instanceof ServiceRefusal) print(JSON.stringify(error.body, undefined, 2));
    throw error;
  }
  print(options.json === true ? JSON.stringify(view, undefined, 2) : describe(view));
  return EXIT.done;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function askService(
  subnetID: SubnetID,
  { url, apiKey, network, timeout, height, destination }: SubnetOptions,
  bar: ProgressBar,
): Promise<SubnetViewBody> {
  await using client = new ServiceClient({ url, apiKey, timeoutMs: 1_000 * timeout });
  bar.say(`asking ${url}`);
  const path = `${await client.networkPath(network, undefined)}/subnets/${subnetID}`;
  const page = (query: Record<string, string>): Promise<SubnetViewBody> =>
    client.get(`${path}?${queryText({ ...query, pageSize: String(PAGE_SIZE) })}`, SubnetViewBody);
  const { nextPageToken, ...view } = await page({
    ...(height !== undefined && { pChainHeight: String(height) }),
    ...(destination !== undefined && { destinationBlockchainId: destination }),
  });
  const validators = [...view.validators];
  let token = nextPageToken;
  for (let pages = 1; token !== undefined; pages += 1) {
    if (pages === MAX_PAGES)
      throw usageFailure(`the service has more than ${MAX_PAGES} pages of validators; check --url`);
    const next = await page({ pageToken: token });
    validators.push(...next.validators);
    token = next.nextPageToken;
  }
  return { ...view, validators };
}

function queryText(query: Readonly<Record<string, string>>): string {
  return new URLSearchParams(query).toString();
}

async function lookHere(
  subnetID: SubnetID,
  config: string,
  { network: name, timeout, height, destination }: SubnetOptions,
  bar: ProgressBar,
): Promise<SubnetViewBody> {
  const destinationChainID =
    destination === undefined ? undefined : parseHexOrCb58Id<BlockchainID>(destination, '--destination');
  // With all of the service but its HTTP side.
  const { openOwnNetwork, untilStarted } = await import('./own-network.ts');
  await using opened = new AsyncDisposableStack();
  const network = await openOwnNetwork(opened, { config, name, networkID: undefined });
  const signal = AbortSignal.timeout(1_000 * timeout);
  try {
    await untilStarted(network, signal, (text) => bar.say(text));
    const pChainHeight = height === undefined ? undefined : BigInt(height);
    const view = await network.subnets.view({ subnetID, pChainHeight, destinationChainID }, signal);
    return { ...presentSubnet(view), validators: view.validators.map(presentValidator) };
  } catch (error) {
    throw error instanceof AggregatorError ? refusalOf(error) : error;
  }
}

type Validator = SubnetViewBody['validators'][number];

const COLOURS = { signable: 'green', doubtful: 'yellow', unreachable: 'red', inactive: 'dim' } as const;

function describe(view: SubnetViewBody): string {
  const total = BigInt(view.totalWeight);
  const share = (weight: string): string => percentOf(BigInt(weight), total);
  const { validators, withoutKey } = view;
  const header = ['STATUS', 'WEIGHT', 'NODE', 'VERSION', 'MEDIAN', 'WHY'];
  const [titles = '', ...lines] = formatTable(
    [header, ...validators.flatMap((validator) => rowsOf(validator, share(validator.weight)))],
    new Set([1, 4]),
  );
  const statuses = validators.flatMap(({ status, nodes }) =>
    nodes.map((_, index) => (index === 0 ? status : undefined)),
  );
  return [
    `subnet ${printable(view.subnetId)} at P-Chain height ${view.pChainHeight}`,
    `${validators.length} validators; ${share(view.connectedWeight)} of the weight is connected, ${share(view.signableWeight)} can sign`,
    `highest quorum that can be signed now: ${view.highestQuorum} %`,
    ...(withoutKey.count > 0
      ? [`${share(withoutKey.weight)} of the weight cannot sign: ${withoutKey.count} without a key, or inactive`]
      : []),
    '',
    styled('dim', titles),
    ...lines.map((line, index) => {
      const status = statuses[index];
      return status === undefined ? line : line.replace(status, styled(COLOURS[status], status));
    }),
  ].join('\n');
}

/** One for each node: any of them can sign for the whole weight. */
function rowsOf({ status, reason, nodes }: Validator, share: string): string[][] {
  return nodes.map(({ nodeId, version, latency, obstacle }, index) => [
    index === 0 ? status : '',
    index === 0 ? share : '',
    printable(nodeId),
    printable(version ?? ''),
    latency === undefined ? '' : `${latency.medianMs} ms`,
    printable(obstacle?.reason ?? (index === 0 ? (reason ?? '') : '')),
  ]);
}
