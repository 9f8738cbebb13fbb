import type { NodeID } from '../warp/ids.ts';
import type { Devnet } from './devnet.ts';
import { L1_ONLY_COUNT } from './network-model.ts';

interface BannerOptions {
  /** Where the service listens. */
  readonly url: string;
  readonly nodeID: NodeID;
  readonly devnet: Devnet;
  /** The name under which the printed requests call the devnet. */
  readonly pathName: string;
}

/** Prints what is running, and requests to paste. */
export function printBanner({ url, nodeID, devnet, pathName }: BannerOptions): void {
  const examples = devnet.examples(pathName);
  const primaryCount = devnet.nodeIDs.length - L1_ONLY_COUNT;
  const byTransaction = examples.filter(({ method }) => method === 'GET').slice(0, 1);
  const curls = [...examples.slice(0, 3), ...byTransaction].map(({ name, path, body }) => {
    const options = body === undefined ? '' : ` -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
    return `  # ${name}\n  curl -s ${url}${path}${options}`;
  });
  console.log(`Warp signature aggregator on a devnet: no real funds are involved, and nothing leaves this machine.

  service     ${url} (in a browser: a console to sign with and watch)
  node ID     ${nodeID}
  P-Chain API ${devnet.apiUrl} (network ID ${devnet.networkID})
  validators  ${primaryCount} of the primary network and ${L1_ONLY_COUNT} of an L1 alone, over TLS on loopback

Try it:

${curls.join('\n\n')}

  # all examples, readiness, the OpenAPI document
  curl -s ${url}/devnet/examples
  curl -s ${url}/health/ready
  curl -s ${url}/openapi.json

To read about the API and try it in a browser: ${url}/docs
To serve a real network: npm start -- --config config/fuji.json. Press Ctrl-C to stop.
`);
}
