import { presentSubnet, presentValidator, SubnetViewBody } from '../../api/subnets/subnet-records.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID, parseHexOrCb58Id, type SubnetID } from '../../warp/ids.ts';
import { EXIT, type ExitCode, usageFailure } from '../io/exit-codes.ts';
import type { ServiceClient } from '../io/service-client.ts';
import { formatTable, percentOf, print, printable, styled } from '../io/text.ts';
import { askSource, type OwnCall, type SourceOptions } from './source.ts';

export interface SubnetOptions extends SourceOptions {
  readonly height?: number;
  readonly destination?: string;
}

const PAGE_SIZE = 1_000;
/** Bounds the requests to a faulty service: 100,000 validators are ten times what the network is planned for. */
const MAX_PAGES = 100;

/** Prints the validators of a subnet. @throws {CommandFailure} */
export async function showSubnet(given: string | undefined, options: SubnetOptions): Promise<ExitCode> {
  const subnetID = given === undefined ? PRIMARY_NETWORK_ID : parseHexOrCb58Id<SubnetID>(given, 'the subnet');
  const view = await askSource(options, {
    networkID: undefined,
    askService: (client) => askService(subnetID, options, client),
    prepareOwn: () => prepareOwn(subnetID, options),
  });
  print(options.json === true ? JSON.stringify(view, undefined, 2) : describe(view));
  return EXIT.done;
}

async function askService(
  subnetID: SubnetID,
  { network, height, destination }: SubnetOptions,
  client: ServiceClient,
): Promise<SubnetViewBody> {
  const path = `${await client.networkPath(network, undefined)}/subnets/${subnetID}`;
  const page = (query: Record<string, string>): Promise<SubnetViewBody> =>
    client.get(`${path}?${new URLSearchParams({ ...query, pageSize: String(PAGE_SIZE) }).toString()}`, SubnetViewBody);
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
